package livepreview_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/author/live/livepreview"
	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program"
)

const kanon = "kanon-system"

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

// programOf compiles a rule r for ServiceAccounts.
func programOf(t *testing.T, kinds *manifests.Kinds, spec string) *program.Program {
	t.Helper()
	return compiled(t, kinds, "  parent: {apiVersion: v1, kind: ServiceAccount}\n"+spec)
}

// compiled is a rule r with a whole spec.
func compiled(t *testing.T, kinds *manifests.Kinds, spec string) *program.Program {
	t.Helper()
	text := "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: r}\nspec:\n" + spec
	checked, err := manifests.Check(t.Context(), []manifests.File{{Name: "rule.yaml", Data: []byte(text)}}, nil, kinds, rules.Options{Namespace: kanon})
	if err != nil || len(checked.Programs) != 1 {
		t.Fatal(err, checked.Findings)
	}
	return checked.Programs[0]
}

const parent = `{apiVersion: v1, kind: ServiceAccount, metadata: {name: web, namespace: shop, uid: 0b5c3a52-0f47-4a5c-8d4e-000000000001}}`

// child is a ConfigMap that a node of rule r created for the parent, or for another.
func child(node, name, namespace, parentUID string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", namespace: " + namespace + ", labels: {kanon.dev/rule: " +
		mark.RuleID(kanon, kanon, "r") + "}, annotations: {kanon.dev/applied: 2." + parentUID + ".hash.seal.value.paths.content." + node + "}}}"
}

// UIDs as marks have them: that of the parent, and another.
const (
	own     = "C1w6Ug9HSlyNTgAAAAAAAQ"
	another = "C1w6Ug9HSlyNTgAAAAAAAg"
)

const spec = `
  lookups:
  - {id: settings, apiVersion: v1, kind: Secret, name: settings}
  - {id: all, apiVersion: v1, kind: Secret, selector: {matchLabels: {app: web}}}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {n: "${string(lookups.all.size())}"}}
  - id: taken
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: taken}}
  - id: waits
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${lookups.settings.metadata.labels.name}"}}
  - id: dropped
    when: ${parent.metadata.name != "web"}
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: dropped}}
  - id: kept
    when: ${parent.metadata.name != "web"}
    deletionPolicy: Orphan
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: kept}}
  patches:
  - id: tag
    target: {apiVersion: v1, kind: Namespace, name: shop}
    template: {metadata: {labels: {web: "yes"}}}`

// previewed is what spec makes of the parent where the cluster has these objects, and which requests were sent.
func previewed(t *testing.T, objects ...string) (*livepreview.Preview, *fake.FakeDynamicClient) {
	t.Helper()
	return previewedBy(t, spec, objects...)
}

// previewedBy is previewed for another spec.
func previewedBy(t *testing.T, spec string, objects ...string) (*livepreview.Preview, *fake.FakeDynamicClient) {
	t.Helper()
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	given := []runtime.Object{object(t, parent)}
	for _, text := range objects {
		given = append(given, object(t, text))
	}
	client := fake.NewSimpleDynamicClient(scheme, given...)
	p, err := livepreview.New(livepreview.Options{
		Client: client, Kinds: kinds, Program: programOf(t, kinds, spec), Namespace: kanon, Now: time.Now(),
	}).Preview(t.Context(), object(t, parent))
	if err != nil {
		t.Fatal(err)
	}
	return p, client
}

// What the cluster has of one parent, by whose it is and what the rule makes of it.
func TestPreview(t *testing.T) {
	t.Parallel()
	p, client := previewed(t,
		child("config", "config", "shop", own),
		child("dropped", "dropped", "shop", own),
		child("kept", "kept", "elsewhere", own),
		child("config", "of-another", "shop", another),
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: taken, namespace: shop}}`,
		`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop, labels: {app: web}}}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`,
	)
	var owned, pruned, lookups []string
	for id := range p.Owned {
		owned = append(owned, id.String())
	}
	slices.Sort(owned)
	if d := cmp.Diff([]string{"ConfigMap elsewhere/kept", "ConfigMap shop/config", "ConfigMap shop/dropped"}, owned); d != "" {
		t.Error("children of the parent:", d)
	}
	for _, x := range p.Pruned() {
		pruned = append(pruned, map[bool]string{true: "orphaned ", false: "deleted "}[x.Orphaned]+identity.Of(x.Object).String())
	}
	if d := cmp.Diff([]string{"orphaned ConfigMap elsewhere/kept", "deleted ConfigMap shop/dropped"}, pruned); d != "" {
		t.Error("not rendered:", d)
	}
	for _, l := range p.Lookups {
		found := "nothing"
		if len(l.Found) > 0 {
			found = l.Found[0].GetName()
		}
		lookups = append(lookups, l.Query.Lookup+" "+found)
	}
	if d := cmp.Diff([]string{"all a", "settings nothing"}, lookups); d != "" {
		t.Error("lookups:", d)
	}
	if p.Nodes[0].Objects[0].Object["data"].(map[string]any)["n"] != "1" {
		t.Error("the lookup by labels was not answered:", p.Nodes[0].Objects[0].Object)
	}
	if len(p.Nodes[1].Refused) != 1 {
		t.Error("an object that nobody gave Kanon is not refused:", p.Nodes[1])
	}
	if p.IsCurrent() {
		t.Error("something is pruned while a node waits")
	}
	targets, err := p.Targets(t.Context(), "", p.Result.Patches[0].Contributions[0])
	if err != nil || len(targets) != 1 || targets[0].GetName() != "shop" {
		t.Error("targets:", targets, err)
	}
	for _, action := range client.Actions() {
		if verb := action.GetVerb(); verb != "get" && verb != "list" {
			t.Errorf("a request %s %s was sent", verb, action.GetResource().Resource)
		}
	}
}

// What happens to children that the rule does not render follows the rules of a running Kanon.
func TestPruned(t *testing.T) {
	t.Parallel()
	const none = `
  children:
  - id: deleted
    when: ${parent.metadata.name != "web"}
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
  - id: kept
    when: ${parent.metadata.name != "web"}
    deletionPolicy: {whenPruned: Orphan, whenDeleted: Delete}
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
  - id: decided
    when: ${parent.metadata.name != "web"}
    deletionPolicy: "${parent.metadata.name == 'web' ? 'Orphan' : 'Delete'}"
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}`
	// retained is a child whose mark says that it is orphaned when it is no longer rendered.
	retained := func(node string) string { return strings.Replace(child(node, "x", "shop", own), " 2.", " 2p.", 1) }
	for name, tc := range map[string]struct{ object, want string }{
		"the policy of the rule deletes":              {retained("deleted"), "delete"},
		"the policy of the rule keeps":                {child("kept", "x", "shop", own), "orphan"},
		"an expression, which said last to keep it":   {retained("decided"), "orphan"},
		"an expression, which said last to delete it": {child("decided", "x", "shop", own), "delete"},
		"a node that is gone, which kept":             {retained("gone"), "orphan"},
		"a node that is gone, which deleted":          {child("gone", "x", "shop", own), "delete"},
		"one that its owner reference alone ties to the parent": {`{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: shop, labels: {kanon.dev/rule: ` + mark.RuleID(kanon, kanon, "r") + `}, ` +
			`ownerReferences: [{apiVersion: v1, kind: ServiceAccount, name: web, uid: 0b5c3a52-0f47-4a5c-8d4e-000000000001, controller: true}]}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := previewedBy(t, none, tc.object)
			got := ""
			for _, pruned := range p.Pruned() {
				got += map[bool]string{true: "orphan", false: "delete"}[pruned.Orphaned]
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// Kinds of children that a former text of the rule had are in its record.
func TestKindsOfTheRecord(t *testing.T) {
	t.Parallel()
	secret := `{apiVersion: v1, kind: Secret, metadata: {name: former, namespace: shop, labels: {kanon.dev/rule: ` + mark.RuleID(kanon, kanon, "r") +
		`}, annotations: {kanon.dev/applied: 2.` + own + `.hash.seal.value.paths.content.former}}}`
	record := `{apiVersion: v1, kind: ConfigMap, metadata: {name: kanon-state-` + mark.RuleID(kanon, kanon, "r") + `, namespace: ` + kanon + `}, data: {record: '{"children":[{"version":"v1","kind":"Secret"}]}'}}`
	for name, tc := range map[string]struct {
		given []string
		want  int
	}{
		"with the record":    {[]string{secret, record}, 1},
		"without the record": {[]string{secret}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := previewed(t, tc.given...)
			if got := len(p.Pruned()); got != tc.want {
				t.Errorf("%d objects are pruned, want %d", got, tc.want)
			}
		})
	}
}

// Who may list a kind in the parent's namespace alone sees the children there.
func TestRightsInOneNamespace(t *testing.T) {
	t.Parallel()
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client := fake.NewSimpleDynamicClient(scheme, object(t, child("config", "here", "shop", own)), object(t, child("config", "there", "elsewhere", own)))
	client.PrependReactor("list", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return action.GetNamespace() == "", nil, apierrors.NewForbidden(action.GetResource().GroupResource(), "", nil)
	})
	o := livepreview.Options{Client: client, Kinds: kinds}
	found, err := o.Children(t.Context(), mark.RuleID(kanon, kanon, "r"), []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}}, object(t, parent))
	if err != nil || len(found) != 1 || found[0].GetName() != "here" {
		t.Errorf("the children are %v, %v", found, err)
	}
}

// What is of a kind that the cluster does not have waits for it, or is skipped.
func TestMissingKinds(t *testing.T) {
	t.Parallel()
	p, _ := previewedBy(t, `
  children:
  - id: needed
    template: {apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}
  - id: optional
    optional: true
    template: {apiVersion: example.com/v1, kind: Other, metadata: {name: a}}
  patches:
  - id: needed
    target: {apiVersion: example.com/v1, kind: Thing, name: a}
    template: {metadata: {labels: {a: b}}}
  - id: optional
    optional: true
    target: {apiVersion: example.com/v1, kind: Other, name: a}
    template: {metadata: {labels: {a: b}}}`)
	if n := p.Nodes[0]; n.State != program.StateWaiting || n.Message != "the cluster has no kind Thing in example.com/v1" {
		t.Errorf("the child is %s: %s", n.State, n.Message)
	}
	if n := p.Nodes[1]; n.State != program.StateSkipped {
		t.Errorf("the optional child is %s: %s", n.State, n.Message)
	}
	if patches := p.Result.Patches; patches[0].State != program.StateWaiting || patches[1].State != program.StateSkipped {
		t.Errorf("the patches are %s and %s", patches[0].State, patches[1].State)
	}
	var text strings.Builder
	if err := p.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# child optional is skipped: the cluster has no kind Other in example.com/v1\n",
		"# patch needed waits: the cluster has no kind Thing in example.com/v1\n",
		"# patch optional is skipped: the cluster has no kind Other in example.com/v1\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text has no %q:\n%s", want, text.String())
		}
	}
}

// Of many parents whose spec.parent.when reads an object for each, the first are judged. Without the right to read, none is.
func TestMatches(t *testing.T) {
	t.Parallel()
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	program := compiled(t, kinds, `  parent: {apiVersion: v1, kind: ServiceAccount, when: "${lookups.own.data.use == 'yes'}"}
  lookups: [{id: own, apiVersion: v1, kind: ConfigMap, name: "${parent.metadata.name}"}]
  children: []`)
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	client := fake.NewSimpleDynamicClient(scheme,
		object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {use: 'yes'}}"),
		object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: shop}, data: {use: 'no'}}"),
		object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}, data: {use: 'no'}}"))
	var parents []*unstructured.Unstructured
	for _, name := range []string{"a", "b", "c"} {
		parents = append(parents, object(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: "+name+", namespace: shop}}"))
	}
	previewer := livepreview.New(livepreview.Options{Client: client, Kinds: kinds, Program: program, Namespace: kanon, Now: time.Now()})
	for maxReads, want := range map[int][]bool{10: {true, false, false}, 1: {true, false, true}, 0: {true, true, true}} {
		got, known, err := previewer.Matches(t.Context(), parents, maxReads)
		if err != nil || !slices.Equal(got, want) || known != min(maxReads+1, len(parents)) {
			t.Errorf("after %d reads: %v, %d known, %v, want %v", maxReads, got, known, err, want)
		}
	}
	client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", nil)
	})
	if _, _, err := previewer.Matches(t.Context(), parents, 10); !apierrors.IsForbidden(err) {
		t.Errorf("without the right to read: %v", err)
	}
}
