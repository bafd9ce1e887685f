package deploy_test

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
)

// copyRule copies each ConfigMap that has a label. A later revision has another key, and another child.
const copyRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: copies}
spec:
  parent: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {copy: "yes"}}}
  children:
  - id: copy
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-copy"}
      data: {revision: first}
`

const laterRule = `
  - id: extra
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-extra"}
      data: {revision: later}
`

// restorable is a cluster whose etcd is saved and restored. Kanon reaches it by one address throughout.
type restorable struct {
	t      *testing.T
	dir    string
	plane  *controlplanetest.ControlPlane
	server *httptest.Server
	target atomic.Pointer[httputil.ReverseProxy]
	*kanontest.Cluster
}

func newRestorable(t *testing.T) *restorable {
	t.Helper()
	dir, err := os.MkdirTemp("", "re-") //nolint:usetesting // sockets are in it, whose paths may not be long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &restorable{t: t, dir: dir}
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) { r.target.Load().ServeHTTP(w, request) }))
	t.Cleanup(r.server.Close)
	r.start()
	return r
}

// start starts the control plane with what its directory has.
func (r *restorable) start() {
	r.t.Helper()
	r.plane = controlplanetest.Start(r.t, controlplanetest.Options{Dir: filepath.Join(r.dir, "plane"), Controllers: []string{"namespace", "garbage-collector"}})
	target, err1 := url.Parse(r.plane.Config.Host)
	transport, err2 := rest.TransportFor(r.plane.Config)
	if err := errors.Join(err1, err2); err != nil {
		r.t.Fatal(err)
	}
	r.target.Store(&httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) },
		ErrorLog: log.New(io.Discard, "", 0), // while the control plane is stopped
	})
	r.Cluster = kanontest.NewCluster(r.t, r.plane.Config)
}

// copyEtcd stops the control plane, copies etcd's data from one folder to another, and starts it again.
func (r *restorable) copyEtcd(from, to string) {
	r.t.Helper()
	r.plane.Stop()
	to = filepath.Join(r.dir, to)
	if err := errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(filepath.Join(r.dir, from)))); err != nil {
		r.t.Fatal(err)
	}
	r.start()
}

func (r *restorable) run() *kanontest.Process {
	r.t.Helper()
	return kanontest.Start(r.t, "run", "--kubeconfig", r.plane.Kubeconfig, "--server", r.server.URL)
}

// parent makes a ConfigMap that the rule is for.
func (r *restorable) parent(name string) {
	r.t.Helper()
	r.Apply(kanontest.Object(r.t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+`, labels: {copy: "yes"}}}`))
}

// awaitRevision waits until a child is one of a revision.
func (r *restorable) awaitRevision(name, revision string) *unstructured.Unstructured {
	r.t.Helper()
	return r.AwaitMatch(kanontest.Object(r.t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: "+name+"}, data: {revision: "+revision+"}}"))
}

// checkRepairs has another manager change children, given by name with the UID that they had in the backup, and waits until the running
// Kanon has put them right as the rule of the backup says: it has read what was restored.
func (r *restorable) checkRepairs(uids map[string]types.UID) {
	r.t.Helper()
	for name, uid := range uids {
		r.Patch(kanontest.Ref("v1", "ConfigMap", name), `{"data": {"revision": "drifted"}}`)
		if live := r.awaitRevision(name, "first"); live.GetUID() != uid {
			r.t.Errorf("%s is not the one that was restored", name)
		}
	}
}

// checkAbsent checks that the ConfigMaps that came after the backup do not exist.
func (r *restorable) checkAbsent(names ...string) {
	r.t.Helper()
	for _, name := range names {
		if r.IsThere(kanontest.Ref("v1", "ConfigMap", name)) {
			r.t.Errorf("%s, which the backup has not, exists", name)
		}
	}
}

// TestRestoredEtcd: when etcd is restored to an earlier state below a Kanon that runs, and that is restarted as docs/operations.md says,
// it follows the objects and the rule that there are then. It deletes nothing, and creates nothing again. So does the one that runs
// meanwhile, once it has read them.
func TestRestoredEtcd(t *testing.T) {
	controlplanetest.Nightly(t)
	t.Parallel()
	r := newRestorable(t)
	configMap := func(name string) *unstructured.Unstructured { return kanontest.Ref("v1", "ConfigMap", name) }
	r.Apply(kanontest.Object(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}"))
	kanon := r.run()
	r.ApplyRules(namespace, "copies", copyRule)
	uids := map[string]types.UID{}
	for _, name := range []string{"kept", "deleted"} {
		r.parent(name)
		uids[name+"-copy"] = r.awaitRevision(name+"-copy", "first").GetUID()
	}
	r.copyEtcd("plane/etcd", "backup")

	r.ApplyRules(namespace, "copies", strings.Replace(copyRule, "first", "later", 1)+laterRule[1:])
	r.parent("created")
	for _, name := range []string{"kept-copy", "kept-extra", "created-copy"} {
		r.awaitRevision(name, "later")
	}
	r.Delete(configMap("deleted"))
	r.AwaitGone(configMap("deleted-copy"))
	r.Delete(configMap("kept-copy"))
	if r.awaitRevision("kept-copy", "later").GetUID() == uids["kept-copy"] {
		t.Fatal("the child was not created again")
	}

	r.copyEtcd("backup", "plane/etcd")
	r.checkRepairs(uids)
	// For a moment, until it has read the rule of the backup, the running Kanon may go by the later one.
	r.AwaitGone(configMap("kept-extra"))
	r.AwaitGone(configMap("deleted-extra"))
	r.checkAbsent("created", "created-copy", "created-extra")
	if err := kanon.Stop(); err != nil {
		t.Error(err)
	}
	kanon = r.run()
	r.AwaitVerdict(namespace, "copies", true, "")
	r.checkRepairs(uids)
	r.checkAbsent("kept-extra", "deleted-extra", "created", "created-copy", "created-extra")

	// What came after the backup can be done once more.
	r.ApplyRules(namespace, "copies", strings.Replace(copyRule, "first", "later", 1)+laterRule[1:])
	r.parent("created")
	for _, name := range []string{"kept-copy", "kept-extra", "deleted-copy", "deleted-extra", "created-copy", "created-extra"} {
		r.awaitRevision(name, "later")
	}
	if err := kanon.Stop(); err != nil {
		t.Error(err)
	}
}
