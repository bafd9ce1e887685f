package examples_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/author/redact"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
	"kanon.dev/kanon/rules/program"
)

// recorder is between Kanon and the API server, and keeps the bodies by which Kanon creates children.
type recorder struct {
	*httptest.Server

	// compared counts the objects of kanon render that were compared.
	compared atomic.Int64

	mu      sync.Mutex
	created map[string]map[string]any // the first of each object, by nameOf. Guarded by mu.
	newest  map[string]map[string]any // the last of each. Guarded by mu.
	times   map[string]int            // how often each was created. Guarded by mu.
	changed chan struct{}             // closed when there is another one. Guarded by mu.
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	config := controlplanetest.Config(t)
	target, err1 := url.Parse(config.Host)
	transport, err2 := rest.TransportFor(config)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	r := &recorder{created: make(map[string]map[string]any), newest: make(map[string]map[string]any), times: make(map[string]int), changed: make(chan struct{})}
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPost {
			body, err := io.ReadAll(request.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			request.Body = io.NopCloser(bytes.NewReader(body))
			r.note(body)
		}
		proxy.ServeHTTP(w, request)
	}))
	t.Cleanup(r.Close)
	return r
}

// note takes in the body of a request, if it creates a child.
func (r *recorder) note(body []byte) {
	var object map[string]any
	if json.Unmarshal(body, &object) != nil {
		return
	}
	if u := (&unstructured.Unstructured{Object: object}); u.GetLabels()[mark.LabelRule] == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name := nameOf(object)
	r.times[name]++
	if r.newest[name] = object; r.created[name] == nil {
		r.created[name] = object
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

// await is the body by which an object was created.
func (r *recorder) await(ctx context.Context, name string) (object map[string]any, err error) {
	err = r.awaitAs(ctx, func() bool {
		object = r.created[name]
		return object != nil
	})
	if err != nil {
		return nil, fmt.Errorf("kanon run does not create %s, which kanon render prints", name)
	}
	return object, nil
}

// awaitAs waits until the bodies are as they are wanted. is is called with mu held.
func (r *recorder) awaitAs(ctx context.Context, is func() bool) error {
	for {
		r.mu.Lock()
		done, changed := is(), r.changed
		r.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func nameOf(object map[string]any) string {
	u := unstructured.Unstructured{Object: object}
	return fmt.Sprintf("%s %s/%s", u.GroupVersionKind().GroupKind(), u.GetNamespace(), u.GetName())
}

// all are the kinds of which an example reads every object of its namespace, also those that other examples make there.
func all() map[string]string { return map[string]string{"configmap-catalog": "ConfigMap"} }

// rendering is what kanon render prints for the first step of a scenario, to be compared with what kanon run sends.
type rendering struct {
	*recorder
	rule          *program.Program
	path          string
	parents, with []*unstructured.Unstructured
	existed       map[string]bool
	// printed are the objects, and late the names of those whose kind the cluster may lack before the scenario is played.
	printed map[string]map[string]any
	late    []string
}

// renderIsWhatRunCreates holds that each object that kanon render prints of a rule is, byte for byte, what kanon run creates for the
// parent. Only kanon run has the marks that withoutMarks names; kanon render hides values of Secrets. It returns what compares the objects
// of which the cluster lacks the kind before the scenario is played.
func (r *recorder) renderIsWhatRunCreates(t *testing.T, cluster *kanontest.Cluster, dir string, scenario *kanontest.Scenario) (later func()) {
	t.Helper()
	objects, err := scenario.Objects(scenario.Steps[0].Apply, cluster.Namespace())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "rule.yaml")
	p := &rendering{recorder: r, rule: check(t, path).Programs[0], path: path, existed: make(map[string]bool)}
	for _, object := range objects {
		if object.GetNamespace() == "" && cluster.IsNamespaced(object) {
			object.SetNamespace(cluster.Namespace())
		}
		p.existed[nameOf(object.Object)] = true
		cluster.Apply(object)
		live := cluster.Get(object)
		if unstructured.RemoveNestedField(live.Object, "status"); live.GroupVersionKind() == p.rule.Parent.GVK {
			p.parents = append(p.parents, live)
			continue
		}
		p.with = append(p.with, live)
	}
	if len(p.parents) == 0 {
		return func() {}
	}
	if kind := all()[dir]; kind != "" {
		p.compareNewest(t, cluster, kind)
		return func() {}
	}
	ctx, cancel := context.WithTimeout(t.Context(), *patience)
	defer cancel()
	p.render(ctx, t, p.with)
	p.compare(ctx, t, slices.DeleteFunc(slices.Collect(maps.Keys(p.printed)), func(name string) bool { return slices.Contains(p.late, name) }))
	return func() {
		ctx, cancel := context.WithTimeout(t.Context(), *patience)
		defer cancel()
		p.compare(ctx, t, p.late)
	}
}

// render has kanon render print the objects.
func (p *rendering) render(ctx context.Context, t *testing.T, with []*unstructured.Unstructured) {
	t.Helper()
	optional := make(map[schema.GroupVersionKind]bool)
	for _, child := range p.rule.Children {
		optional[child.GVK] = child.Optional
	}
	p.printed = make(map[string]map[string]any)
	for _, object := range render(ctx, t, p.path, p.parents, with) {
		name := nameOf(object)
		if p.existed[name] {
			continue // it is the parent with its status
		}
		p.printed[name] = object
		if optional[(&unstructured.Unstructured{Object: object}).GroupVersionKind()] {
			p.late = append(p.late, name)
		}
	}
}

// compare compares objects with those that kanon run creates.
func (p *rendering) compare(ctx context.Context, t *testing.T, names []string) {
	t.Helper()
	created, secrets := make(map[string]map[string]any), redact.Values{}
	for _, object := range p.with {
		secrets.Note(object)
	}
	for _, name := range names {
		object, err := p.await(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		created[name] = object
		secrets.Note(&unstructured.Unstructured{Object: object})
	}
	for name, object := range created {
		p.compared.Add(1)
		if want, got := textOf(t, secrets.Object(withoutMarks(object))), textOf(t, p.printed[name]); want != got {
			t.Errorf("kanon render prints\n%s\nand kanon run creates\n%s", got, want)
		}
	}
}

// compareNewest compares what kanon render prints, with all objects of a kind as they are in the namespace, with what kanon run creates. If
// these objects change meanwhile, it deletes the children, so that kanon run creates them again.
func (p *rendering) compareNewest(t *testing.T, cluster *kanontest.Cluster, kind string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), *patience)
	defer cancel()
	before := make(map[string]int)
	for {
		with := slices.Clone(p.with)
		for _, object := range cluster.List("v1", kind, cluster.Namespace()) {
			if !p.existed[nameOf(object.Object)] && !isChildOf(&object, p.parents) {
				with = append(with, &object)
			}
		}
		p.render(ctx, t, with)
		var newest map[string]map[string]any
		var times map[string]int
		err := p.awaitAs(ctx, func() bool {
			newest, times = maps.Clone(p.newest), maps.Clone(p.times)
			return !slices.ContainsFunc(slices.Collect(maps.Keys(p.printed)), func(name string) bool {
				return newest[name] == nil || p.times[name] == before[name]
			})
		})
		want, got := "", ""
		for _, name := range slices.Sorted(maps.Keys(p.printed)) {
			got += textOf(t, p.printed[name])
			if newest[name] != nil {
				want += textOf(t, withoutMarks(newest[name]))
			}
		}
		switch {
		case err != nil:
			t.Fatalf("kanon render prints\n%s\nand kanon run creates\n%s", got, want)
		case want == got:
			p.compared.Add(int64(len(p.printed)))
			return
		}
		for name := range p.printed {
			before[name] = times[name]
			child := &unstructured.Unstructured{Object: newest[name]}
			cluster.Await(child, func(*unstructured.Unstructured) error { return nil }) // the body is known before the API server has it
			cluster.Delete(child)
		}
	}
}

// isChildOf reports whether one of the parents owns an object.
func isChildOf(object *unstructured.Unstructured, parents []*unstructured.Unstructured) bool {
	return slices.ContainsFunc(parents, func(parent *unstructured.Unstructured) bool { return metav1.IsControlledBy(object, parent) })
}

// render are the objects that kanon render prints.
func render(ctx context.Context, t *testing.T, rule string, parents, with []*unstructured.Unstructured) (printed []map[string]any) {
	t.Helper()
	args := []string{"render", rule, written(t, "parents.yaml", parents)}
	if len(with) > 0 {
		args = append(args, "--with", written(t, "with.yaml", with))
	}
	command := exec.CommandContext(ctx, kanontest.Binary(t), args...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil && len(out) == 0 {
		t.Fatalf("kanon %s: %v", strings.Join(args, " "), err)
	}
	for document := range strings.SplitSeq(string(out), "---\n") {
		if strings.Contains("\n"+document, "\n# patch ") {
			continue // which creates nothing
		}
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if object != nil {
			printed = append(printed, object)
		}
	}
	return printed
}

// written is a file with objects.
func written(t *testing.T, name string, objects []*unstructured.Unstructured) string {
	t.Helper()
	var text strings.Builder
	for _, object := range objects {
		object.SetManagedFields(nil)
		text.WriteString("---\n" + textOf(t, object.Object))
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func textOf(t *testing.T, object map[string]any) string {
	t.Helper()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// withoutMarks is a body of kanon run without what kanon render does not print: the label and the annotations of Kanon, the owner reference,
// and the values of a Secret.
func withoutMarks(created map[string]any) map[string]any {
	u := (&unstructured.Unstructured{Object: created}).DeepCopy()
	labels, annotations := u.GetLabels(), u.GetAnnotations()
	isMark := func(key, _ string) bool { return strings.HasPrefix(key, "kanon.dev/") }
	maps.DeleteFunc(labels, isMark)
	maps.DeleteFunc(annotations, isMark)
	for field, left := range map[string]map[string]string{"labels": labels, "annotations": annotations} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
		if len(left) > 0 {
			_ = unstructured.SetNestedStringMap(u.Object, left, "metadata", field) // metadata is a mapping, as it has a name
		}
	}
	unstructured.RemoveNestedField(u.Object, "metadata", "ownerReferences")
	if data, ok := u.Object["data"].(map[string]any); ok && u.GetKind() == "Secret" {
		for _, key := range slices.Collect(maps.Keys(data)) {
			data[key] = redact.Hidden
		}
	}
	return u.Object
}
