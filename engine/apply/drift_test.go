package apply

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: child, labels: {tier: web}}
spec:
  replicas: 0
  selector: {matchLabels: {app: child}}
  template:
    metadata: {labels: {app: child}}
    spec:
      containers:
      - name: main
        image: example.test/main:1
        args: [one, two]
        env: [{name: A, value: a}, {name: B, value: b}]
        ports: [{containerPort: 80}]
`

// TestEveryForeignChangeOfAnOwnedFieldIsDrift holds the fact that the fingerprint stands on: whoever else changes, removes
// or changes and restores an owned field takes it out of our entry. Each case is noticed by a Writer that remembers and by
// one that does not, and put right by one apply.
func TestEveryForeignChangeOfAnOwnedFieldIsDrift(t *testing.T) {
	const container = "/spec/template/spec/containers/0"
	tests := map[string]struct {
		change func(w *world, live *unstructured.Unstructured)
		path   []string
		want   any
		// amended is true where only a value has to be put back.
		amended bool
	}{
		"value change": {
			change: func(w *world, live *unstructured.Unstructured) {
				w.patch("other", live, `[{"op": "replace", "path": "/spec/replicas", "value": 1}]`)
			},
			path: []string{"spec", "replicas"}, want: int64(0),
		},
		"change and revert": {
			change: func(w *world, live *unstructured.Unstructured) {
				w.patch("other", live, `[{"op": "replace", "path": "/spec/replicas", "value": 1}]`)
				w.patch("other", live, `[{"op": "replace", "path": "/spec/replicas", "value": 0}]`)
			},
			path: []string{"spec", "replicas"}, want: int64(0),
		},
		"forced apply by another manager": {
			change: func(w *world, live *unstructured.Unstructured) {
				text := `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "child"}, "spec": {"replicas": 1}}`
				yes := true
				if _, err := w.client(live).Patch(w.t.Context(), "child", "application/apply-patch+yaml", []byte(text),
					metav1.PatchOptions{FieldManager: "other", Force: &yes}); err != nil {
					w.t.Fatal(err)
				}
			},
			path: []string{"spec", "replicas"}, want: int64(0),
		},
		"scale subresource": {
			change: func(w *world, live *unstructured.Unstructured) {
				w.patch("other", live, `[{"op": "replace", "path": "/spec/replicas", "value": 1}]`, "scale")
			},
			path: []string{"spec", "replicas"}, want: int64(0),
		},
		"list item removal": {
			change: func(w *world, live *unstructured.Unstructured) {
				w.patch("other", live, `[{"op": "remove", "path": "`+container+`/env/1"}]`)
			},
		},
		"element of an atomic list": {
			change: func(w *world, live *unstructured.Unstructured) {
				w.patch("other", live, `[{"op": "replace", "path": "`+container+`/args/1", "value": "three"}]`)
			},
			amended: true,
		},
		"removal of an atomic list": {
			change: func(w *world, live *unstructured.Unstructured) {
				w.patch("other", live, `[{"op": "remove", "path": "`+container+`/args"}]`)
			},
		},
		"removal of a label": {
			change: func(w *world, live *unstructured.Unstructured) {
				w.patch("other", live, `[{"op": "remove", "path": "/metadata/labels/tier"}]`)
			},
			path: []string{"metadata", "labels", "tier"}, want: "web",
		},
		"removal of Kanon's label": {
			change: func(w *world, live *unstructured.Unstructured) {
				w.patch("other", live, `[{"op": "remove", "path": "/metadata/labels/kanon.dev~1rule"}]`)
			},
		},
		"removal of the mark": {
			change: func(w *world, live *unstructured.Unstructured) {
				w.patch("other", live, `[{"op": "remove", "path": "/metadata/annotations/kanon.dev~1applied"}]`)
			},
		},
		"removal of the ownerReference": {
			change: func(w *world, live *unstructured.Unstructured) {
				w.patch("other", live, `[{"op": "remove", "path": "/metadata/ownerReferences"}]`)
			},
		},
		"change of the ownerReference": {
			change: func(w *world, live *unstructured.Unstructured) {
				w.patch("other", live, `[{"op": "replace", "path": "/metadata/ownerReferences/0/blockOwnerDeletion", "value": false}]`)
			},
			amended: true,
		},
		"reset of managedFields": {
			change: func(w *world, live *unstructured.Unstructured) {
				w.patch("other", live, `[{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]`)
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.child(deployment)
			w.sync(c, nil, ActionCreated, "POST")
			w.settled(c)
			before := specText(t, w.get(c.Object))
			c = w.child(deployment) // by the Writer that remembers
			w.sync(c, w.get(c.Object), ActionNone, "")
			if !w.unchanged(w.get(c.Object)) {
				t.Fatal("changed before anybody did anything")
			}
			tt.change(w, c.Object)

			live := w.get(c.Object)
			if w.unchanged(live) {
				t.Error("not noticed at a glance")
			}
			remembering := w.writer
			w.restart()
			if inSync(remembering, c, live) || inSync(w.writer, c, live) {
				t.Fatalf("not noticed: %v", fieldsOf(t, live, fieldset.Manager))
			}
			// Only a missing fingerprint leaves the set of paths unknown, and costs the move of ownership.
			requests := "APPLY"
			if _, ok := mark.Recorded(live); !ok {
				requests = "GET JSONPATCH APPLY"
			}
			if tt.amended {
				requests = "PUT"
			}
			answer := w.sync(c, live, ActionApplied, requests)
			if tt.path != nil && fieldValue(answer, tt.path...) != tt.want {
				t.Errorf("%v = %v, want %v", tt.path, fieldValue(answer, tt.path...), tt.want)
			}
			if after := specText(t, answer); after != before {
				t.Errorf("not put right:\n%s\nwas\n%s", after, before)
			}
			if diff := c.RestoresController(answer); diff {
				t.Error("the ownerReference is still missing")
			}
			w.settled(c)
		})
	}
}

// specText is what of a live object drift changes, as text.
func specText(t *testing.T, obj *unstructured.Unstructured) string {
	t.Helper()
	text, err := fieldset.MarshalText([]any{obj.Object["spec"], obj.GetLabels(), obj.GetAnnotations()["kanon.dev/owner"]})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestWhatIsNotOursIsNoDrift holds the other half: a no-op write, a status update and changes of fields that we do not
// own leave our entry as it was.
func TestWhatIsNotOursIsNoDrift(t *testing.T) {
	tests := map[string]func(w *world, live *unstructured.Unstructured){
		"no-op write": func(w *world, live *unstructured.Unstructured) {
			w.patch("other", live, `[{"op": "replace", "path": "/spec/replicas", "value": 0}]`)
		},
		"status update": func(w *world, live *unstructured.Unstructured) {
			w.patch("other", live, `[{"op": "add", "path": "/status/replicas", "value": 5}]`, "status")
		},
		"a label of somebody else's": func(w *world, live *unstructured.Unstructured) {
			w.patch("other", live, `[{"op": "add", "path": "/metadata/labels/other", "value": "x"}]`)
		},
		"a container of somebody else's": func(w *world, live *unstructured.Unstructured) {
			w.patch("other", live, `[{"op": "add", "path": "/spec/template/spec/containers/-", "value": {"name": "sidecar", "image": "i"}}]`)
		},
		"an apply of the same value": func(w *world, live *unstructured.Unstructured) {
			text := `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "child"}, "spec": {"replicas": 0}}`
			if _, err := w.client(live).Patch(w.t.Context(), "child", "application/apply-patch+yaml", []byte(text),
				metav1.PatchOptions{FieldManager: "other"}); err != nil {
				w.t.Fatal(err)
			}
		},
		// A POST's entry owns what the server defaulted. Others may change that, although it leaves our entry.
		"a defaulted field": func(w *world, live *unstructured.Unstructured) {
			if !strings.Contains(fieldsOf(w.t, w.get(live), fieldset.Manager)["Update"], "f:revisionHistoryLimit") {
				w.t.Error("the POST's entry does not own the defaulted field")
			}
			changed := w.patch("other", live, `[{"op": "replace", "path": "/spec/revisionHistoryLimit", "value": 3}]`)
			if strings.Contains(fieldsOf(w.t, changed, fieldset.Manager)["Update"], "f:revisionHistoryLimit") {
				w.t.Error("our entry still owns what another changed")
			}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.child(deployment)
			w.sync(c, nil, ActionCreated, "POST")
			change(w, c.Object)
			live := w.get(c.Object)
			w.sync(c, live, ActionNone, "")
			if !w.unchanged(live) {
				t.Error("found to be in sync, and looked at again all the same")
			}
			w.settled(c)
		})
	}
}
