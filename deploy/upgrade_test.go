package deploy_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
)

// recorder is the program of an earlier version, which makes the objects of testdata/upgrade.json again.
var recorder = flag.String("record", "", "path of an earlier kanon whose objects are written to testdata/upgrade.json")

const recorded = "testdata/upgrade.json"

// upgrade is a cluster in which one version of Kanon follows another one.
type upgrade struct {
	*kanontest.Cluster
	t     *testing.T
	plane *controlplanetest.ControlPlane
	audit string
	dir   string
	all   []example
}

func newUpgrade(t *testing.T) *upgrade {
	t.Helper()
	dir, err := os.MkdirTemp("", "up-") //nolint:usetesting // sockets are in it, whose paths may not be long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	u := &upgrade{t: t, audit: filepath.Join(t.TempDir(), "audit.log"), dir: dir, all: loadExamples(t)}
	u.plane = controlplanetest.Start(t, controlplanetest.Options{
		Dir: dir, AuditLog: u.audit, Controllers: []string{"namespace", "garbage-collector"}, // others would change the objects
	})
	u.Cluster = kanontest.NewCluster(t, u.plane.Config)
	u.Apply(kanontest.Object(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}"))
	for _, e := range u.all {
		u.Apply(e.kinds...)
	}
	for _, e := range u.all {
		for _, kind := range e.kinds {
			u.Await(kind, func(live *unstructured.Unstructured) error {
				if kanontest.ConditionStatus(live, "Established") != "True" {
					return fmt.Errorf("%s is not served", live.GetName())
				}
				return nil
			})
		}
	}
	return u
}

func (u *upgrade) start(program string) *kanontest.Process {
	u.t.Helper()
	return kanontest.StartProgram(u.t, program, "run", "--kubeconfig", u.plane.Kubeconfig,
		"--metrics-bind-address=127.0.0.1:0", "--metrics-secure=false")
}

// fill has a version of Kanon make the objects of all examples. A second process of it finishes what the first one began.
func (u *upgrade) fill(program string) {
	u.t.Helper()
	kanon := u.start(program)
	for _, e := range u.all {
		u.ApplyRules(namespace, e.name, e.rule)
		u.AwaitVerdict(namespace, e.name, true, "")
		u.Apply(e.parent)
	}
	u.awaitMetric(kanon, "kanon_reconcile_duration_seconds_count")
	if err := kanon.Stop(); err != nil {
		u.t.Error(err)
	}
	kanon = u.start(program)
	u.awaitAtRest(kanon)
	if err := kanon.Stop(); err != nil {
		u.t.Error(err)
	}
}

// awaitAtRest waits until each rule has a parent that it found in place.
func (u *upgrade) awaitAtRest(kanon *kanontest.Process) {
	u.t.Helper()
	u.awaitMetric(kanon, "kanon_reconciles_without_write_total")
}

// awaitMetric waits until each rule has a metric.
func (u *upgrade) awaitMetric(kanon *kanontest.Process, name string) {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), 4*time.Minute)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		_, metrics := kanon.Fetch(u.t, "metrics", "/metrics", "")
		if !slices.ContainsFunc(u.all, func(e example) bool {
			return !strings.Contains(metrics, "\n"+name+"{rule=\""+namespace+"/"+e.name+"\"")
		}) {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			u.t.Fatalf("some rule has no %s:\n%s", name, metrics)
		}
	}
}

// writes are those of the process with a version, as its user agent says.
func (u *upgrade) writes(version string) (writes []string) {
	u.t.Helper()
	data, err := os.ReadFile(u.audit)
	if err != nil {
		u.t.Fatal(err)
	}
	requests := 0
	for line := range bytes.Lines(data) {
		var event auditv1.Event
		if json.Unmarshal(line, &event) != nil || event.UserAgent != "kanon/"+version {
			continue
		}
		requests++
		if !slices.Contains([]string{"get", "list", "watch"}, event.Verb) {
			writes = append(writes, event.Verb+" "+event.RequestURI)
		}
	}
	if requests == 0 {
		u.t.Errorf("kanon/%s has sent no request", version)
	}
	return writes
}

// checkUpgrade runs another version, and checks that it writes nothing: no child, no parent, no record.
func (u *upgrade) checkUpgrade(version string) {
	u.t.Helper()
	kanon := u.start(kanontest.Release(u.t, version))
	for _, e := range u.all {
		u.AwaitVerdict(namespace, e.name, true, "")
	}
	u.awaitAtRest(kanon)
	if err := kanon.Stop(); err != nil {
		u.t.Error(err)
	}
	if writes := u.writes(version); len(writes) > 0 {
		u.t.Errorf("the new version has written:\n%s", strings.Join(writes, "\n"))
	}
}

// Nothing is written because Kanon's version changed.
func TestUpgradeWritesNothing(t *testing.T) {
	t.Parallel()
	u := newUpgrade(t)
	u.fill(kanontest.Release(t, "v8.0.0"))
	if len(u.writes("v8.0.0")) == 0 {
		t.Error("the writes of the version before are not found")
	}
	u.checkUpgrade("v9.0.0")
}

// Nothing is written because an earlier version made the objects: testdata has them as that left them, with their UIDs.
func TestUpgradeFromRecorded(t *testing.T) {
	t.Parallel()
	u := newUpgrade(t)
	u.all = slices.DeleteFunc(u.all, func(e example) bool { return strings.Contains(e.rule, "allowPrivileged") }) // the earlier version does not have that
	if *recorder != "" {
		u.fill(*recorder)
		u.record()
		t.Skip("recorded " + recorded)
	}
	u.restore()
	u.checkUpgrade("v9.0.0")
}

// record writes what is of Kanon, and the parents.
func (u *upgrade) record() {
	u.t.Helper()
	var found []stored
	for resource, object := range u.everything() {
		labels := object.GetLabels()
		isParent := slices.ContainsFunc(u.all, func(e example) bool {
			return e.parent.GetKind() == object.GetKind() && e.parent.GetName() == object.GetName()
		})
		if isParent || labels["kanon.dev/rule"]+labels["kanon.dev/state"]+labels["kanon.dev/rules"] != "" || object.GetName() == keyring.SecretName {
			object.SetResourceVersion("")
			found = append(found, stored{keyOf(resource, object), object})
		}
	}
	slices.SortFunc(found, func(a, b stored) int { return strings.Compare(a.Key, b.Key) })
	text, err := json.MarshalIndent(found, "", " ")
	if err != nil {
		u.t.Fatal(err)
	}
	if err := os.WriteFile(recorded, append(text, '\n'), 0o600); err != nil {
		u.t.Fatal(err)
	}
}

// stored is an object and where etcd has it.
type stored struct {
	Key    string                     `json:"key"`
	Object *unstructured.Unstructured `json:"object"`
}

// everything is each object of the cluster, with its resource.
func (u *upgrade) everything() func(yield func(schema.GroupVersionResource, *unstructured.Unstructured) bool) {
	u.t.Helper()
	kinds, err1 := discovery.NewDiscoveryClientForConfig(u.plane.Config)
	client, err2 := dynamic.NewForConfig(u.plane.Config)
	if err1 != nil || err2 != nil {
		u.t.Fatal(err1, err2)
	}
	lists, err := kinds.ServerPreferredResources()
	if err != nil {
		u.t.Fatal(err)
	}
	return func(yield func(schema.GroupVersionResource, *unstructured.Unstructured) bool) {
		for _, list := range lists {
			gv, _ := schema.ParseGroupVersion(list.GroupVersion)
			for _, resource := range list.APIResources {
				if !slices.Contains(resource.Verbs, "list") || resource.Name == "events" {
					continue
				}
				gvr := gv.WithResource(resource.Name)
				objects, err := client.Resource(gvr).List(u.t.Context(), metav1.ListOptions{})
				if err != nil {
					u.t.Fatal(err)
				}
				for i := range objects.Items {
					if !yield(gvr, &objects.Items[i]) {
						return
					}
				}
			}
		}
	}
}

// keyOf is where the API server keeps an object in etcd.
func keyOf(resource schema.GroupVersionResource, object *unstructured.Unstructured) string {
	parts := []string{"/registry"}
	switch {
	case resource.Resource == "services":
		parts = append(parts, "services", "specs")
	case strings.Contains(resource.Group, ".") && !strings.HasSuffix(resource.Group, ".k8s.io") || strings.HasPrefix(resource.Group, "samplecontroller"):
		parts = append(parts, resource.Group, resource.Resource) // a custom one
	default:
		parts = append(parts, resource.Resource)
	}
	if object.GetNamespace() != "" {
		parts = append(parts, object.GetNamespace())
	}
	return strings.Join(append(parts, object.GetName()), "/")
}

// restore puts the recorded objects into etcd. The API server would give them other UIDs, of which their marks would prove nothing.
func (u *upgrade) restore() {
	u.t.Helper()
	text, err := os.ReadFile(recorded)
	if err != nil {
		u.t.Fatal(err)
	}
	var objects []stored
	if err := json.Unmarshal(text, &objects); err != nil {
		u.t.Fatal(err)
	}
	// Owners first: the garbage collector deletes what has an owner that it does not find.
	slices.SortStableFunc(objects, func(a, b stored) int {
		return cmp.Compare(len(a.Object.GetOwnerReferences()), len(b.Object.GetOwnerReferences()))
	})
	socket := filepath.Join(u.dir, "sockets", "client")
	etcd := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	defer etcd.CloseIdleConnections()
	for _, object := range objects {
		value, err := object.Object.MarshalJSON()
		if err != nil {
			u.t.Fatal(err)
		}
		body, err := json.Marshal(map[string][]byte{"key": []byte(object.Key), "value": value}) // in base64
		if err != nil {
			u.t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(u.t.Context(), http.MethodPost, "http://etcd/v3/kv/put", bytes.NewReader(body))
		if err != nil {
			u.t.Fatal(err)
		}
		answer, err := etcd.Do(request)
		if err != nil {
			u.t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			u.t.Fatalf("etcd answers %s", answer.Status)
		}
		live := u.Get(object.Object)
		if live.GetUID() != object.Object.GetUID() {
			u.t.Fatalf("%s has the UID %s, and not that of the one that was recorded", object.Key, live.GetUID())
		}
	}
}
