package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
)

// notPlayed are the commands of docs/operations.md that this test does not run, by a word in them, and why.
var notPlayed = map[string]string{
	"helm upgrade":     "TestProfiles installs the chart",
	"prometheus-kanon": "its cluster has a Prometheus",
	"port-forward":     "no kubelet runs here",
	"verbosity=4":      "verbosity.txtar of cmd/kanon sets the annotations; no kubelet runs here",
}

// page plays the commands of a page.
type page struct {
	t     *testing.T
	text  string
	plane *controlplanetest.ControlPlane
	bin   string
	audit string
}

// section is the text of one section.
func (p *page) section(heading string) string {
	p.t.Helper()
	_, after, ok := strings.Cut(p.text, "\n## "+heading+"\n")
	if !ok {
		p.t.Fatalf("the page has no section %s", heading)
	}
	section, _, _ := strings.Cut(after, "\n## ")
	return section
}

// shellBlocks finds the commands in a text.
func shellBlocks(text string) (blocks []string) {
	for _, match := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, match[1])
	}
	return blocks
}

// play runs the commands of a section, but for those that cannot run here. It returns how many blocks it ran.
func (p *page) play(heading string) (played int) {
	p.t.Helper()
	for _, block := range shellBlocks(p.section(heading)) {
		if isNotPlayed(block) {
			continue
		}
		played++
		bash := exec.CommandContext(p.t.Context(), "bash", "-euo", "pipefail", "-c", block)
		bash.Dir = ".."
		bash.Env = append(os.Environ(), "PATH="+p.bin+":"+os.Getenv("PATH"), "KUBECONFIG="+p.plane.Kubeconfig)
		if output, err := bash.CombinedOutput(); err != nil {
			p.t.Fatalf("%s: %v\n%s\n%s", heading, err, block, output)
		}
	}
	return played
}

func isNotPlayed(block string) bool {
	for word := range notPlayed {
		if strings.Contains(block, word) {
			return true
		}
	}
	return false
}

// docs/operations.md leads from a fresh control plane to a Kanon that is installed, upgraded and uninstalled, with its own commands.
//
// It does not run in parallel: the schemas of new kinds come late from an API server that waits for a processor, and Kanon asks for them with growing
// pauses.
func TestOperations(t *testing.T) {
	controlplanetest.Nightly(t)
	text, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	p := &page{t: t, text: string(text), bin: t.TempDir(), audit: filepath.Join(t.TempDir(), "audit.log")}
	p.plane = controlplanetest.Start(t, controlplanetest.Options{AuditLog: p.audit})
	if err := os.Symlink(p.plane.Kubectl, filepath.Join(p.bin, "kubectl")); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(p.plane.Config)
	if err != nil {
		t.Fatal(err)
	}
	cluster := kanontest.NewCluster(t, p.plane.Config)
	foo := loadExamples(t)[0]
	start := func(program string) *kanontest.Process { // the Pods of the Deployment are Pods in name only
		return kanontest.StartProgram(t, program, append(installedArguments(t, client), "--kubeconfig", kubeconfigOf(t, client, p.plane.Config))...)
	}

	played := p.play("Install")
	cluster.Apply(kanontest.ReadManifest(t, "rbac-examples.yaml")...)
	cluster.Apply(foo.kinds...)
	kanon := start(kanontest.Release(t, "v0.1.0"))
	cluster.ApplyRules(namespace, foo.name, foo.rule)
	cluster.AwaitVerdict(namespace, foo.name, true, "")
	cluster.Apply(foo.parent)
	for _, want := range foo.want {
		cluster.AwaitMatch(want)
	}

	played += p.play("Upgrade and roll back")
	deployment := cluster.In(t, namespace).Get(kanontest.Ref("apps/v1", "Deployment", "kanon"))
	if containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers"); !strings.HasSuffix(imageOf(containers), ":v0.2.0") {
		t.Errorf("the image is %s after the upgrade", imageOf(containers))
	}
	if err := kanon.Stop(); err != nil {
		t.Error(err)
	}
	before := deploymentWrites(t, p.audit)
	kanon = start(kanontest.Release(t, "v0.2.0"))
	if !strings.Contains(kanon.Log(), `"version":"v0.2.0"`) {
		t.Errorf("another version runs after the upgrade: %s", kanon.Log())
	}
	cluster.AwaitVerdict(namespace, foo.name, true, "")
	// The new version writes what changes, and nothing that the earlier one made.
	cluster.Patch(foo.parent, `{"spec": {"replicas": 2}}`)
	cluster.AwaitMatch(kanontest.Object(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: example-foo}, spec: {replicas: 2}}"))
	if writes := deploymentWrites(t, p.audit); writes != before+1 {
		t.Errorf("%d writes to Deployments after the upgrade, want one", writes-before)
	}

	played += p.play("Uninstall")
	if err := kanon.Stop(); err != nil {
		t.Error(err)
	}
	for _, gone := range []*unstructured.Unstructured{
		kanontest.Ref("v1", "Namespace", namespace),
		kanontest.Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "rules.kanon.dev"),
		kanontest.Ref("rbac.authorization.k8s.io/v1", "ClusterRole", "kanon"),
	} {
		cluster.AwaitGone(gone)
	}
	for _, want := range foo.want { // what Kanon made stays
		if !cluster.IsThere(want) {
			t.Errorf("%s %s went with Kanon", want.GetKind(), want.GetName())
		}
	}
	if played != 4 {
		t.Errorf("%d blocks were played", played)
	}
	for _, block := range shellBlocks(p.text) {
		known := isNotPlayed(block) || strings.Contains(p.section("Install")+p.section("Upgrade and roll back")+p.section("Uninstall"), block)
		if !known {
			t.Errorf("these commands are not tested:\n%s", block)
		}
	}
}

// deploymentWrites counts Kanon's writes to Deployments.
func deploymentWrites(t *testing.T, audit string) (writes int) {
	t.Helper()
	for _, rights := range readAuditLog(t, audit) {
		for _, r := range rights {
			if r.resource == "deployments" && r.verb != "get" && r.verb != "list" && r.verb != "watch" {
				writes++
			}
		}
	}
	return writes
}

// imageOf is the image of the first container.
func imageOf(containers []any) string {
	first, _ := containers[0].(map[string]any)
	image, _ := first["image"].(string)
	return image
}
