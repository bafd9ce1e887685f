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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
	"kanon.dev/kanon/internal/scenariotest"
	"kanon.dev/kanon/redact"
)

// recorder is between Kanon and the API server, and keeps the bodies by which Kanon creates children.
type recorder struct {
	*httptest.Server

	// compared counts the objects of kanon render that were compared.
	compared atomic.Int64

	mu      sync.Mutex
	created map[string]map[string]any // the first of each object, by nameOf. Guarded by mu.
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
	r := &recorder{created: make(map[string]map[string]any), changed: make(chan struct{})}
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
	if name := nameOf(object); r.created[name] == nil {
		r.created[name] = object
		close(r.changed)
		r.changed = make(chan struct{})
	}
}

// await is the body by which an object was created.
func (r *recorder) await(ctx context.Context, name string) (map[string]any, error) {
	for {
		r.mu.Lock()
		object, changed := r.created[name], r.changed
		r.mu.Unlock()
		if object != nil {
			return object, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("kanon run does not create %s, which kanon render prints", name)
		}
	}
}

func nameOf(object map[string]any) string {
	u := unstructured.Unstructured{Object: object}
	return fmt.Sprintf("%s %s/%s", u.GroupVersionKind().GroupKind(), u.GetNamespace(), u.GetName())
}

// unlike are the examples of which kanon run creates something else than kanon render prints, and why: it knows more of the cluster.
func unlike() map[string]string {
	return map[string]string{
		"configmap-catalog":    "it lists ConfigMaps, of which another example puts one into each namespace",
		"ingress-certificates": "it creates Certificates only in a cluster that has the kind",
	}
}

// renderIsWhatRunCreates holds that each object that kanon render prints of a rule is, byte for byte, what kanon run creates for the
// parent. Only kanon run has the marks that withoutMarks names; kanon render hides values of Secrets.
func (r *recorder) renderIsWhatRunCreates(t *testing.T, cluster *kanontest.Cluster, dir string, scenario *scenariotest.Scenario) {
	t.Helper()
	if unlike()[dir] != "" {
		return
	}
	objects, err := scenario.Objects(scenario.Steps[0].Apply, cluster.Namespace())
	if err != nil {
		t.Fatal(err)
	}
	rule := check(t, filepath.Join(dir, "rule.yaml")).Programs[0]
	existed := make(map[string]bool)
	var parents, with []*unstructured.Unstructured
	for _, object := range objects {
		if object.GetNamespace() == "" && cluster.IsNamespaced(object) {
			object.SetNamespace(cluster.Namespace())
		}
		existed[nameOf(object.Object)] = true
		cluster.Apply(object)
		live := cluster.Get(object)
		if unstructured.RemoveNestedField(live.Object, "status"); live.GroupVersionKind() == rule.Parent.GVK {
			parents = append(parents, live)
			continue
		}
		with = append(with, live)
	}
	if len(parents) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), *patience)
	defer cancel()
	printed, created, secrets := make(map[string]map[string]any), make(map[string]map[string]any), redact.Values{}
	for _, object := range with {
		secrets.Note(object)
	}
	for _, object := range r.render(ctx, t, filepath.Join(dir, "rule.yaml"), parents, with) {
		if name := nameOf(object); !existed[name] { // otherwise it is the parent with its status
			printed[name] = object
		}
	}
	for name := range printed {
		object, err := r.await(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		created[name] = object
		secrets.Note(&unstructured.Unstructured{Object: object})
	}
	for name, object := range created {
		r.compared.Add(1)
		if want, got := textOf(t, secrets.Object(withoutMarks(object))), textOf(t, printed[name]); want != got {
			t.Errorf("kanon render prints\n%s\nand kanon run creates\n%s", got, want)
		}
	}
}

// render are the objects that kanon render prints.
func (r *recorder) render(ctx context.Context, t *testing.T, rule string, parents, with []*unstructured.Unstructured) (printed []map[string]any) {
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
