package app

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"
)

// The rule must say what the operator writes, or the engines would not do the same work.
func TestRuleSaysWhatTheOperatorWrites(t *testing.T) {
	scheme, err := Scheme(0)
	if err != nil {
		t.Fatal(err)
	}
	parent := &App{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "web"}, Spec: Spec{Revision: "7", Extra: 17}}
	objects := fake.NewClientBuilder().WithScheme(scheme).WithObjects(parent).WithStatusSubresource(parent).Build()
	r := &reconciler{client: objects, parents: objects}
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(parent)}); err != nil {
		t.Fatal(err)
	}
	for _, child := range []client.Object{&corev1.ConfigMap{}, &corev1.Service{}, &appsv1.Deployment{}} {
		if err := objects.Get(t.Context(), client.ObjectKeyFromObject(parent), child); err != nil {
			t.Fatal(err)
		}
		kind := reflect.TypeOf(child).Elem().Name()
		if lack := lacks(generic(t, child), templateOf(t, kind)); len(lack) > 0 && !slices.Equal(lack, []string{".apiVersion", ".kind"}) {
			t.Errorf("the operator's %s lacks %q of the rule", kind, lack)
		}
	}
	var all corev1.ConfigMapList
	if err := objects.List(t.Context(), &all); err != nil || len(all.Items) != 18 {
		t.Errorf("%d ConfigMaps, want 18 (%v)", len(all.Items), err)
	}
	if rule := Rules(1, true, 0); !strings.Contains(rule, "id: extra") || strings.Contains(Rules(1, false, 0), "id: extra") {
		t.Errorf("the rule for extra children:\n%s", rule)
	}
}

// lacks lists the fields of want that got does not have.
func lacks(got, want any) (paths []string) {
	switch want := want.(type) {
	case map[string]any:
		fields, _ := got.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			for _, path := range lacks(fields[name], want[name]) {
				paths = append(paths, "."+name+path)
			}
		}
		return paths
	case []any:
		items, _ := got.([]any)
		if len(items) == len(want) {
			for i := range want {
				paths = append(paths, lacks(items[i], want[i])...)
			}
			return paths
		}
	}
	if reflect.DeepEqual(got, want) {
		return nil
	}
	return []string{""}
}

func TestKinds(t *testing.T) {
	var rules []string
	for text := range strings.SplitSeq(Rules(3, false, 0), "---\n") {
		var rule struct {
			Metadata struct{ Name string }
			Spec     struct{ Parent struct{ Kind string } }
		}
		if err := yaml.Unmarshal([]byte(text), &rule); err != nil {
			t.Fatal(err)
		}
		rules = append(rules, rule.Metadata.Name+" of "+rule.Spec.Parent.Kind)
	}
	if want := []string{"app of App", "app1 of App1", "app2 of App2"}; !slices.Equal(rules, want) {
		t.Errorf("rules %q, want %q", rules, want)
	}
	var definition struct {
		Metadata struct{ Name string }
		Spec     struct{ Names map[string]string }
	}
	if err := yaml.Unmarshal([]byte(Definition(7)), &definition); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"kind": "App7", "plural": "apps7", "singular": "app7", "listKind": "App7List"}
	if definition.Metadata.Name != "apps7.bench.kanon.dev" || !maps.Equal(definition.Spec.Names, want) {
		t.Errorf("definition %s of %v", definition.Metadata.Name, definition.Spec.Names)
	}
}

func TestBulk(t *testing.T) {
	const size = 1000
	if n := len(Data("7", size)[BulkKey]); n != size {
		t.Errorf("the ConfigMap's bulk has %d bytes, want %d", n, size)
	}
	if n := strings.Count(Rules(1, true, size), "x"); n < size || n > size+100 {
		t.Errorf("the rule has some %d bytes of bulk, want %d", n, size)
	}
}

// templateOf is the template of a kind in the rule, with the expressions that it
// has replaced by their values.
func templateOf(t *testing.T, kind string) map[string]any {
	t.Helper()
	text, err := os.ReadFile("rule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	replaced := strings.NewReplacer(
		`"${variables.labels}"`, `{bench.kanon.dev/app: web}`,
		`${variables.labels}`, `{bench.kanon.dev/app: web}`,
		`"${parent.metadata.name}"`, `web`,
		`${parent.metadata.name}`, `web`,
		`revision: ${parent.spec.revision}`, `revision: "7"`,
		`${parent.spec.revision}`, `7`,
	).Replace(string(text))
	var rule struct {
		Spec struct {
			Children []struct{ Template map[string]any }
		}
	}
	if err := yaml.Unmarshal([]byte(replaced), &rule); err != nil {
		t.Fatal(err)
	}
	for _, child := range rule.Spec.Children {
		if child.Template["kind"] == kind {
			return child.Template
		}
	}
	t.Fatalf("the rule has no %s", kind)
	return nil
}

func generic(t *testing.T, object any) map[string]any {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
