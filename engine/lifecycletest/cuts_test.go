package lifecycletest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
)

var (
	cutRuns  = flag.Int("cuts", 0, "how many trials of cut connections to run; make cuts runs 20")
	cutItems = []string{"x", "y", "z"}
)

const (
	cutParents = 300
	cutWriters = 3
	cutPause   = 30 * time.Millisecond // between two operations of a writer
	cutSpan    = 15 * time.Second
	// cutShare is how many of a thousand chunks end their connection.
	cutShare = 20
	// mostCreations is how often a child may be created within creationSpan. The writers cause one every three seconds.
	mostCreations = 10
	creationSpan  = 10 * time.Second
)

// TestCutConnections runs an engine whose connections to the API server keep being cut while parents and children
// change, come and go. Once the connections hold, every parent has exactly its children.
func TestCutConnections(t *testing.T) {
	runs := *cutRuns
	if runs == 0 {
		controlplanetest.Nightly(t)
		runs = 1
	}
	c := newCluster(t, controlplanetest.Config(t))
	for i := range uint64(runs) {
		t.Run(fmt.Sprint("seed ", *seed+i), func(t *testing.T) { newTrial(t, c, *seed+i).run() })
	}
}

// trial is one run: an engine behind a proxy, and what the writers did.
type trial struct {
	t *testing.T
	*cluster

	seed              uint64
	kanon, home, away string
	proxy             *cuttingProxy
	creations         creationLog
	log               *engineLog
}

func newTrial(t *testing.T, c *cluster, seed uint64) *trial {
	t.Helper()
	return &trial{
		t: t, cluster: c, seed: seed, log: &engineLog{},
		kanon: controlplanetest.Namespace(t, c.config), home: controlplanetest.Namespace(t, c.config), away: controlplanetest.Namespace(t, c.config),
		proxy: newCuttingProxy(t, c.config.Host, seed),
	}
}

// run has the writers work while connections are cut, and then waits until every parent has its children.
func (r *trial) run() {
	r.startEngine()
	r.apply(r.rule())
	for i := range cutParents {
		r.createParent(rand.New(rand.NewPCG(r.seed, uint64(i))), i)
	}
	r.await("before the first cut")
	r.proxy.cutting.Store(true)
	var writers sync.WaitGroup
	for i := range cutWriters {
		writers.Go(func() { r.write(i) })
	}
	writers.Wait()
	r.proxy.cutting.Store(false)
	began := time.Now()
	r.await("after the last cut")
	r.t.Logf("seed %d: %d connections were cut; all parents had their children %s after that", r.seed, r.proxy.cuts.Load(), time.Since(began).Round(time.Second))
	for name, most := range r.creations.most() {
		if most > mostCreations {
			r.t.Errorf("%s was created %d times within %s", name, most, creationSpan)
		}
	}
}

func (r *trial) startEngine() {
	config := rest.CopyConfig(r.config)
	config.Host = "https://" + r.proxy.listener.Addr().String()
	config.Wrap(r.creations.wrap)
	options := kanontest.EngineOptions(r.t, config, r.kanon)
	options.Recorder = &record.FakeRecorder{}
	options.RetryMax = time.Second
	e, err := engine.New(options)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(logr.NewContext(context.Background(), logr.New(logSink{log: r.log})))
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("the engine ended with %v", err)
		}
	})
}

// rule has a child beside the parent, one that reads it, and some in another namespace, which only the rule can delete.
func (r *trial) rule() *unstructured.Unstructured {
	text := fmt.Sprintf(`apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: cuts}
spec:
  parent: {apiVersion: %[1]s/v1, kind: Item, namespaces: [%[2]s]}
  children:
    - id: a
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}-a"}, data: {v: "${parent.spec.v}"}}
    - id: b
      template: {apiVersion: %[1]s/v1, kind: Thing, metadata: {name: "${parent.metadata.name}-b"}, spec: {w: "${children.a.data.v}"}}
    - id: c
      forEach: [{name: item, in: "${parent.spec.items}"}]
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}-c${item}", namespace: %[3]s}}
  status: {v: "${children.b.spec.w}"}
`, r.group, r.home, r.away)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": configMap,
		"metadata": map[string]any{"name": "cuts", "namespace": r.kanon, "labels": map[string]any{"kanon.dev/rules": "true"}},
		"data":     map[string]any{"rule.yaml": text},
	}}
}

func (r *trial) apply(obj *unstructured.Unstructured) {
	if _, err := r.at(obj.GetKind(), obj.GetNamespace()).Create(r.t.Context(), obj, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		r.t.Error(err)
	}
}

func parentName(number int) string { return fmt.Sprintf("p%03d", number) }

func (r *trial) createParent(random *rand.Rand, number int) {
	r.apply(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": r.group + "/v1", "kind": item, "metadata": map[string]any{"name": parentName(number), "namespace": r.home}, "spec": drawSpec(random),
	}})
}

func drawSpec(random *rand.Rand) map[string]any {
	items := []any{}
	for _, word := range cutItems {
		if random.IntN(2) == 0 && len(items) < 2 {
			items = append(items, word)
		}
	}
	return map[string]any{"v": fmt.Sprint("v", random.IntN(1000)), "items": items}
}

// write changes the parents of one writer, over a connection that is not cut.
func (r *trial) write(writer int) {
	random := rand.New(rand.NewPCG(r.seed, 1000+uint64(writer)))
	for end := time.Now().Add(cutSpan); time.Now().Before(end); <-time.After(cutPause) {
		number := random.IntN(cutParents/cutWriters)*cutWriters + writer
		name := parentName(number)
		var err error
		switch draw := random.IntN(10); draw {
		case 0:
			err = r.at(item, r.home).Delete(r.t.Context(), name, metav1.DeleteOptions{})
		case 1:
			r.createParent(random, number)
		case 2:
			kind, namespace, child := r.drawChild(random, name)
			err = r.at(kind, namespace).Delete(r.t.Context(), child, metav1.DeleteOptions{})
		default:
			patch, _ := json.Marshal(map[string]any{"spec": drawSpec(random)})
			_, err = r.at(item, r.home).Patch(r.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			r.t.Error(err)
		}
	}
}

func (r *trial) drawChild(random *rand.Rand, parent string) (kind, namespace, name string) {
	switch random.IntN(3) {
	case 0:
		return configMap, r.home, parent + "-a"
	case 1:
		return thing, r.home, parent + "-b"
	default:
		return configMap, r.away, parent + "-c" + oneOf(random, cutItems...)
	}
}

// await waits until no parent is being deleted, and each has exactly its children.
func (r *trial) await(when string) {
	var wrong []string
	for deadline := time.Now().Add(*patience); time.Now().Before(deadline); <-time.After(time.Second) {
		if wrong = r.compare(); len(wrong) == 0 {
			return
		}
	}
	if len(wrong) > 10 {
		wrong = append(wrong[:10], fmt.Sprintf("and %d more", len(wrong)-10))
	}
	parents := make(map[string]bool)
	for _, line := range wrong {
		if _, name, ok := strings.Cut(line, "/p"); ok && len(name) >= 3 {
			parents["p"+name[:3]] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(parents)) {
		wrong = append(wrong, r.log.about(names{home: r.home + "/" + name, prefix: name})...)
	}
	r.t.Fatalf("%s:\n%s", when, strings.Join(wrong, "\n"))
}

// compare lists what differs from what the parents ask for.
func (r *trial) compare() (wrong []string) {
	want := make(map[string]string)
	for _, parent := range r.list(item, r.home) {
		name := parent.GetName()
		if parent.GetDeletionTimestamp() != nil {
			wrong = append(wrong, fmt.Sprintf("Item %s/%s is still being deleted", r.home, name))
			continue
		}
		v, _, _ := unstructured.NestedString(parent.Object, "spec", "v")
		items, _, _ := unstructured.NestedStringSlice(parent.Object, "spec", "items")
		want[configMap+" "+r.home+"/"+name+"-a"], want[thing+" "+r.home+"/"+name+"-b"] = v, v
		for _, word := range items {
			want[configMap+" "+r.away+"/"+name+"-c"+word] = ""
		}
		if got, _, _ := unstructured.NestedString(parent.Object, "status", "v"); got != v {
			wrong = append(wrong, fmt.Sprintf("Item %s/%s has status.v %q, want %q", r.home, name, got, v))
		}
	}
	for _, child := range slices.Concat(r.list(configMap, r.home), r.list(thing, r.home), r.list(configMap, r.away)) {
		if !strings.HasPrefix(child.GetName(), "p") {
			continue // such as kube-root-ca.crt
		}
		id := child.GetKind() + " " + child.GetNamespace() + "/" + child.GetName()
		v, _, _ := unstructured.NestedString(child.Object, "data", "v")
		w, _, _ := unstructured.NestedString(child.Object, "spec", "w")
		if value, ok := want[id]; !ok {
			wrong = append(wrong, id+" exists, and no parent has it")
		} else if v+w != value {
			wrong = append(wrong, fmt.Sprintf("%s has %q, want %q", id, v+w, value))
		}
		delete(want, id)
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		wrong = append(wrong, id+" does not exist")
	}
	return wrong
}

func (r *trial) list(kind, namespace string) []unstructured.Unstructured {
	list, err := r.at(kind, namespace).List(r.t.Context(), metav1.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range list.Items {
		list.Items[i].SetKind(kind)
	}
	return list.Items
}

// cuttingProxy forwards connections to the API server, and cuts some while it is asked to.
type cuttingProxy struct {
	listener net.Listener
	target   string
	cutting  atomic.Bool
	cuts     atomic.Int64

	mu     sync.Mutex
	random *rand.Rand
}

func newCuttingProxy(t *testing.T, server string, seed uint64) *cuttingProxy {
	t.Helper()
	address, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &cuttingProxy{listener: listener, target: address.Host, random: rand.New(rand.NewPCG(seed, 2000))}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() { p.forward(from) })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); group.Wait() })
	return p
}

// forward copies both directions of a connection until one of them ends or is cut.
func (p *cuttingProxy) forward(from net.Conn) {
	to, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", p.target)
	if err != nil {
		_ = from.Close()
		return
	}
	var once sync.Once
	end := func() { once.Do(func() { _, _ = from.Close(), to.Close() }) }
	var group sync.WaitGroup
	group.Go(func() { defer end(); p.copy(to, from) })
	group.Go(func() { defer end(); p.copy(from, to) })
	group.Wait()
}

func (p *cuttingProxy) copy(to io.Writer, from io.Reader) {
	chunk := make([]byte, 32*1024)
	for {
		n, err := from.Read(chunk)
		if err != nil || p.cut() {
			return
		}
		if _, err := to.Write(chunk[:n]); err != nil {
			return
		}
	}
}

// cut draws whether a connection is to be cut.
func (p *cuttingProxy) cut() bool {
	if !p.cutting.Load() {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.random.IntN(1000) >= cutShare {
		return false
	}
	p.cuts.Add(1)
	return true
}

// creationLog has when the engine sent the creation of each object.
type creationLog struct {
	mu sync.Mutex
	at map[string][]time.Time
}

func (l *creationLog) wrap(next http.RoundTripper) http.RoundTripper {
	return kanontest.RoundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method == http.MethodPost && request.GetBody != nil {
			if body, err := request.GetBody(); err == nil {
				l.note(request.URL.Path, body)
			}
		}
		return next.RoundTrip(request)
	})
}

func (l *creationLog) note(path string, body io.ReadCloser) {
	defer body.Close() //nolint:errcheck // It is in memory.
	var object metav1.PartialObjectMetadata
	var text bytes.Buffer
	if _, err := text.ReadFrom(body); err != nil || json.Unmarshal(text.Bytes(), &object) != nil || object.Name == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at == nil {
		l.at = make(map[string][]time.Time)
	}
	l.at[path+"/"+object.Name] = append(l.at[path+"/"+object.Name], time.Now())
}

// most returns the greatest number of creations of each object within creationSpan.
func (l *creationLog) most() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	most := make(map[string]int)
	for name, times := range l.at {
		first := 0
		for last, at := range times {
			for at.Sub(times[first]) > creationSpan {
				first++
			}
			most[name] = max(most[name], last-first+1)
		}
	}
	return most
}
