package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"kanon.dev/kanon/engine/apply/applytest"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// TestAmendment holds which changes are amended, and by what: nothing but values of fields that are there, and never what
// others may have a part of. The child was posted with one spec; somebody did something to it; now it has another spec.
func TestAmendment(t *testing.T) {
	const posted = `{replicas: 1, args: [a], selector: {a: b}, emptyDir: {}, free: {x: 1},
		finalizers: [f], limits: {cpu: "1"}, ports: [{port: 80, name: http}, {port: 53, protocol: UDP}]}`
	changed := func(from, to string) string { return strings.Replace(posted, from, to, 1) }
	tests := map[string]struct {
		spec string
		live func(spec map[string]any)
		// loses is a part of our entry that somebody has taken.
		loses string
		// applied is true where the child has been applied before.
		applied bool
		want    string // what is put, but for the fingerprint; none: an apply
	}{
		"a scalar":                        {spec: changed("replicas: 1", "replicas: 2"), want: "/spec/replicas=2"},
		"a scalar that may not be stored": {spec: changed("replicas: 1", "replicas: 0")},
		"an atomic list":                  {spec: changed("[a]", "[a, b]"), want: "/spec/args=[a b]"},
		"an atomic map":                   {spec: changed("a: b", "c: d"), want: "/spec/selector/a=<nil>, /spec/selector/c=d"},
		"a key of a map":                  {spec: changed(`"1"`, `"2"`), want: "/spec/limits/cpu=2"},
		"an item of a list map": {
			spec: changed("http", "web"),
			want: "/spec/ports/0/name=web",
		},
		"an item that others moved": {
			spec: changed("http", "web"),
			live: func(spec map[string]any) {
				ports, _ := spec["ports"].([]any)
				spec["ports"] = append([]any{map[string]any{"port": int64(1), "protocol": "TCP"}}, ports...)
			},
			want: "/spec/ports/1/name=web",
		},
		"beside what others put into an empty struct": {
			spec: changed("replicas: 1", "replicas: 2"),
			live: func(spec map[string]any) { spec["emptyDir"] = map[string]any{"medium": "Memory"} },
			want: "/spec/replicas=2",
		},
		"beside an item of a set by others": {
			spec: changed("replicas: 1", "replicas: 2"),
			live: func(spec map[string]any) { spec["finalizers"] = []any{"theirs", "f"} },
			want: "/spec/replicas=2",
		},
		"a scalar that is a map now": {spec: changed("replicas: 1", "replicas: 2"), live: func(spec map[string]any) { spec["replicas"] = map[string]any{"x": "y"} }},
		"drift":                      {spec: posted, live: func(spec map[string]any) { spec["replicas"] = int64(7) }, loses: `"f:replicas":{},`, want: "/spec/replicas=1"},
		"drift that was restored":    {spec: posted, loses: `"f:replicas":{},`},
		"a field that was removed":   {spec: changed("replicas: 1", "replicas: 2"), live: func(spec map[string]any) { delete(spec, "args") }},
		"an item of a set that went": {spec: changed("replicas: 1", "replicas: 2"), live: func(spec map[string]any) { spec["finalizers"] = []any{"theirs"} }},
		"an item that was removed":   {spec: changed("replicas: 1", "replicas: 2"), live: func(spec map[string]any) { spec["ports"] = []any{} }},
		"another set of paths":       {spec: changed("replicas: 1, ", "")},
		"a new field":                {spec: changed("replicas: 1", "replicas: 1, paused: true")},
		"a child that was applied":   {spec: changed("replicas: 1", "replicas: 2"), applied: true},
		"a child that is in sync":    {spec: posted},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			thing := func(spec string) *Child {
				return prepare(t, "{apiVersion: test/v1, kind: Thing, metadata: {name: child, namespace: ns}, spec: "+spec+"}")
			}
			before := thing(posted)
			set, err := before.Paths()
			if err != nil {
				t.Fatal(err)
			}
			paths, err := set.ToJSON()
			if err != nil {
				t.Fatal(err)
			}
			if tt.loses != "" && !strings.Contains(string(paths), tt.loses) {
				t.Fatalf("%s is not in %s", tt.loses, paths)
			}
			operation := fieldset.OperationUpdate
			if tt.applied {
				operation = fieldset.OperationApply
			}
			live := applytest.WithManaged(before.Object, applytest.Managed(t, fieldset.Manager, operation, "test/v1", strings.Replace(string(paths), tt.loses, "", 1)))
			live.SetUID("uid")
			live.SetResourceVersion("1")
			if tt.live != nil {
				spec, _, _ := unstructured.NestedMap(live.Object, "spec")
				tt.live(spec)
				live.Object["spec"] = spec
			}
			was := live.DeepCopy()
			after := thing(tt.spec)
			next, ok := after.withValues(live)
			if ok != (tt.want != "") {
				t.Fatalf("put: %t, want %q", ok, tt.want)
			}
			if ok {
				if got := strings.Join(changesOf(live.Object, next.Object, ""), ", "); got != tt.want {
					t.Errorf("put with %q, want %q", got, tt.want)
				}
				if _, found := next.Object["metadata"].(map[string]any)["managedFields"]; found {
					t.Error("managedFields are put")
				}
			}
			if diff := cmp.Diff(was, live); diff != "" {
				t.Errorf("what is known was changed (-was +is)\n%s", diff)
			}
		})
	}
}

// changesOf lists the values that differ, except for the fingerprint and managedFields.
func changesOf(before, after any, path string) (changes []string) {
	switch was := before.(type) {
	case map[string]any:
		if is, ok := after.(map[string]any); ok {
			all := maps.Clone(was)
			maps.Copy(all, is)
			for _, name := range slices.Sorted(maps.Keys(all)) {
				if name != mark.AnnotationApplied && name != "managedFields" {
					changes = append(changes, changesOf(was[name], is[name], path+"/"+name)...)
				}
			}
			return changes
		}
	case []any:
		if is, ok := after.([]any); ok && len(is) == len(was) {
			for i := range is {
				changes = append(changes, changesOf(was[i], is[i], fmt.Sprint(path, "/", i))...)
			}
			return changes
		}
	}
	if cmp.Equal(before, after) {
		return nil
	}
	return []string{fmt.Sprintf("%s=%v", path, after)}
}

// TestAmend holds, on the API server, what an amendment may rest on.
func TestAmend(t *testing.T) {
	t.Run("old knowledge of a list", func(t *testing.T) {
		w := newWorld(t)
		live := w.sync(w.child(deployment), nil, ActionCreated, "POST")
		w.patch("other", live, `[{"op": "add", "path": "/spec/template/spec/containers/0", "value": {"name": "sidecar", "image": "i"}}]`)
		c := w.child(strings.Replace(deployment, "main:1", "main:2", 1))
		after := w.sync(c, live, ActionApplied, "PUT GET PUT") // live is as it was before
		containers, _ := fieldValue(after, "spec", "template", "spec", "containers").([]any)
		images := map[string]bool{}
		for _, container := range containers {
			m, _ := container.(map[string]any)
			images[fmt.Sprint(m["name"], " ", m["image"])] = true
		}
		if !images["main example.test/main:2"] || !images["sidecar i"] || len(images) != 2 {
			t.Errorf("containers are %v", images)
		}
		w.settled(c)
	})
	t.Run("one entry, and a field goes later", func(t *testing.T) {
		w := newWorld(t)
		live := w.sync(w.child(deployment), nil, ActionCreated, "POST")
		before := fieldsOf(t, live, fieldset.Manager)
		c := w.child(strings.NewReplacer("main:1", "main:2", "tier: web", "tier: back").Replace(deployment))
		live = w.sync(c, live, ActionApplied, "PUT")
		wantFields(t, live, fieldset.Manager, before)
		w.settled(c)
		c = w.child(strings.Replace(deployment, ", labels: {tier: web}", "", 1))
		live = w.sync(c, w.get(live), ActionApplied, "GET JSONPATCH APPLY")
		if got := fieldValue(live, "metadata", "labels", "tier"); got != nil {
			t.Errorf("the label that left the template is still %v", got)
		}
		w.settled(c)
	})
	t.Run("a value in another form", func(t *testing.T) {
		w := newWorld(t)
		const limited = deployment + "        resources: {limits: {cpu: 1000m}}\n"
		c := w.child(limited)
		live := w.sync(c, nil, ActionCreated, "POST")
		const cpu = "/spec/template/spec/containers/0/resources/limits/cpu"
		w.patch("other", live, `[{"op": "replace", "path": "`+cpu+`", "value": "2"}]`)
		live = w.patch("other", live, `[{"op": "replace", "path": "`+cpu+`", "value": "1"}]`)
		w.sync(c, live, ActionApplied, "PUT APPLY") // the PUT changes nothing, so it takes nothing back
		w.settled(c)
	})
	t.Run("a value that is refused", func(t *testing.T) {
		w := newWorld(t)
		live := w.sync(w.child(deployment), nil, ActionCreated, "POST")
		message := w.fails(w.child(strings.ReplaceAll(deployment, "app: child", "app: other")), live, "invalid", "PUT")
		if !strings.Contains(message, "spec.selector") || !strings.Contains(message, "immutable") {
			t.Errorf("the message is %q", message)
		}
	})
}

// TestPut holds that a PUT of what is known of a child does no more to it than an apply would, and that where it is refused
// as such it is made from a newer state, or an apply does the rest.
func TestPut(t *testing.T) {
	changed := strings.Replace(configMap, "one", "three", 1)
	t.Run("beside others", func(t *testing.T) {
		w := newWorld(t)
		live := w.sync(w.child(configMap), nil, ActionCreated, "POST")
		w.patch("other", live, `[{"op": "add", "path": "/data/theirs", "value": ""}, {"op": "add", "path": "/metadata/annotations/a~1b", "value": "x"},
			{"op": "add", "path": "/metadata/finalizers", "value": ["example.test/hold"]}, {"op": "add", "path": "/immutable", "value": false}]`)
		live = w.get(live)
		ours, theirs := fieldsOf(t, live, fieldset.Manager), fieldsOf(t, live, "other")
		c := w.child(changed)
		after := w.sync(c, live, ActionApplied, "PUT")
		wantFields(t, after, fieldset.Manager, ours)
		wantFields(t, after, "other", theirs)
		live.Object["data"] = map[string]any{"a": "three", "b": "two", "theirs": ""}
		for _, obj := range []*unstructured.Unstructured{live, after} {
			obj.SetManagedFields(nil)
			obj.SetResourceVersion("")
			annotations := obj.GetAnnotations()
			delete(annotations, mark.AnnotationApplied)
			obj.SetAnnotations(annotations)
		}
		if diff := cmp.Diff(live.Object, after.Object); diff != "" {
			t.Errorf("more than was meant has changed (-before +after)\n%s", diff)
		}
		w.settled(c)
		w.patch("other", live, `[{"op": "remove", "path": "/metadata/finalizers"}]`)
	})
	t.Run("too late", func(t *testing.T) {
		w := newWorld(t)
		live := w.sync(w.child(configMap), nil, ActionCreated, "POST")
		w.patch("other", live, `[{"op": "add", "path": "/data/theirs", "value": "x"}]`)
		c := w.child(changed)
		after := w.sync(c, live, ActionApplied, "PUT GET PUT")
		want := map[string]any{"a": "three", "b": "two", "theirs": "x"}
		if diff := cmp.Diff(any(want), fieldValue(after, "data")); diff != "" {
			t.Errorf("data (-want +got)\n%s", diff)
		}
		w.settled(c)
	})
	// A PUT of a Service makes one where there is none, unless it has a UID.
	t.Run("of what is gone", func(t *testing.T) {
		w := newWorld(t)
		const service = "{apiVersion: v1, kind: Service, metadata: {name: child}, spec: {selector: {a: b}, ports: [{port: 80, name: http}]}}"
		live := w.sync(w.child(service), nil, ActionCreated, "POST")
		if err := w.client(live).Delete(t.Context(), "child", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.fails(w.child(strings.Replace(service, "http", "web", 1)), live, "replaced", "PUT GET")
		if _, err := w.client(live).Get(t.Context(), "child", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("it was made again: %v", err)
		}
	})
	t.Run("of a field that the schema has no more", func(t *testing.T) {
		w := newWorld(t)
		live := w.sync(w.child(configMap), nil, ActionCreated, "POST")
		live.Object["theirs"] = "x"
		c := w.child(changed)
		w.sync(c, live, ActionApplied, "PUT APPLY")
		w.settled(c)
	})
	t.Run("without the right to it", func(t *testing.T) {
		w := newWorld(t)
		live := w.sync(w.child(configMap), nil, ActionCreated, "POST")
		for _, text := range []string{
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: patching}, rules: [{apiGroups: [''], resources: [configmaps], verbs: [patch]}]}",
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: patching}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: patching}],
				roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: patching}}`,
		} {
			w.post("someone", text)
		}
		w.restartAs("patching")
		var result Result
		c := w.child(changed)
		err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (_ bool, err error) {
			w.requests.take()
			if result, err = w.writer.Sync(ctx, c, live); apierrors.IsForbidden(err) {
				return false, nil // the API server does not know of the binding yet
			}
			return true, err
		})
		if sent := w.requests.take(); err != nil || sent != "PUT APPLY" {
			t.Fatalf("by %q: %v, want PUT APPLY", sent, err)
		}
		w.sync(w.child(configMap), result.Live, ActionApplied, "APPLY") // it is not tried again
	})
}
