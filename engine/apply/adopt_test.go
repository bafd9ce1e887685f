package apply

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/mark"
)

const adoptable = "{apiVersion: v1, kind: ConfigMap, metadata: {name: child}, data: {a: ours}}"

// freeOf syncs a child whose name is taken and returns the object that may be adopted; nil where it may not.
func (w *world) freeOf(c *Child) *unstructured.Unstructured {
	w.t.Helper()
	_, err := w.trySync(c, nil)
	var taken *NameConflictError
	if !errors.As(err, &taken) {
		w.t.Fatalf("Sync: %v, want a name that is taken", err)
	}
	w.requests.take()
	return taken.Free
}

func TestAdoption(t *testing.T) {
	w := newWorld(t)
	w.post("kubectl", "{apiVersion: v1, kind: ConfigMap, metadata: {name: child}, data: {a: theirs, b: theirs}}")
	c := w.child(adoptable)
	free := w.freeOf(c)
	result, err := w.writer.Adopt(t.Context(), c, free, false)
	if err != nil {
		t.Fatal(err)
	}
	if sent := w.requests.take(); sent != "JSONPATCH APPLY" || result.Action != ActionAdopted {
		t.Errorf("%s by %q", result.Action, sent)
	}
	live := w.get(c.Object)
	if a, b := fieldValue(live, "data", "a"), fieldValue(live, "data", "b"); a != "ours" || b != "theirs" {
		t.Errorf("data is %v", live.Object["data"])
	}
	if !w.writer.Marks.Owns(live, w.owner.RuleID, w.owner.Parent.UID) || live.GetUID() != free.GetUID() {
		t.Error("it is not the parent's now")
	}
	w.settled(c)
}

// What is adopted and no longer rendered goes, whoever made it and however; what was never rendered stays.
func TestAdoptedFieldsGo(t *testing.T) {
	template := func(containers string) string {
		return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: child, labels: {app: a}}, spec: {selector: {matchLabels: {app: a}}, " +
			"template: {metadata: {labels: {app: a}}, spec: {containers: [" + strings.ReplaceAll(containers, "+", "{image: i, name: ") + "]}}}}"
	}
	makers := map[string]func(w *world, text string){
		"kubectl create": func(w *world, text string) { w.post("kubectl-create", text) },
		"a server-side apply": func(w *world, text string) {
			if _, err := w.rawApply("helm", w.object(text)); err != nil {
				w.t.Fatal(err)
			}
		},
	}
	for name, make := range makers {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			make(w, template("+main}, +sidecar, env: [{name: A, value: b}]}, +theirs}"))
			c := w.child(template("+main}, +sidecar}"))
			result, err := w.writer.Adopt(t.Context(), c, w.freeOf(c), false)
			if err != nil || len(result.TakenFrom) != 1 {
				t.Fatalf("taken from %v: %v", result.TakenFrom, err)
			}
			w.settled(c)
			if _, err := w.trySync(w.child(template("+main}")), result.Live); err != nil {
				t.Fatal(err)
			}
			var names []string
			containers, _ := fieldValue(w.get(result.Live), "spec", "template", "spec", "containers").([]any)
			for _, c := range containers {
				names = append(names, c.(map[string]any)["name"].(string))
			}
			if got := strings.Join(names, " "); got != "main theirs" {
				t.Errorf("the containers are %q, want main and theirs", got)
			}
		})
	}
}

// Of two that adopt one object at the same time, one has it.
func TestAdoptionByTwo(t *testing.T) {
	w := newWorld(t)
	w.post("kubectl", adoptable)
	c := w.child(adoptable)
	free := w.freeOf(c)
	w.patch("other", free, `[{"op": "add", "path": "/data/c", "value": "x"}]`)
	before := w.get(free).GetResourceVersion()
	if _, err := w.writer.Adopt(t.Context(), c, free, false); err == nil {
		t.Error("an object was adopted that is not as it was seen")
	}
	if w.get(free).GetResourceVersion() != before {
		t.Error("it was written to")
	}
}

func TestWhatIsNeverAdopted(t *testing.T) {
	tests := map[string]func(w *world) *Child{
		"what has a controller": func(w *world) *Child {
			obj := w.object(adoptable)
			obj.SetOwnerReferences([]metav1.OwnerReference{*controllerRef(w.parent)})
			if _, err := w.client(obj).Create(w.t.Context(), obj, metav1.CreateOptions{}); err != nil {
				w.t.Fatal(err)
			}
			w.owner.Parent.UID, w.owner.Parent.Name = "00000000-0000-0000-0000-000000000000", "another"
			return w.child(adoptable)
		},
		"another rule's": func(w *world) *Child {
			w.sync(w.child(adoptable), nil, ActionCreated, "POST")
			w.owner.RuleID, w.owner.Rule = mark.RuleID("kanon-system", "kanon-system", "second"), "kanon-system/second"
			return w.child(adoptable)
		},
		"another rule's, let go by its parent": func(w *world) *Child {
			c := w.child(adoptable)
			live := w.sync(c, nil, ActionCreated, "POST")
			w.patch("other", live, `[{"op": "remove", "path": "/metadata/ownerReferences"}]`)
			w.owner.RuleID, w.owner.Rule = mark.RuleID("kanon-system", "kanon-system", "second"), "kanon-system/second"
			return w.child(adoptable)
		},
		"what a label says a rule made": func(w *world) *Child {
			w.post("kubectl", strings.Replace(adoptable, "name: child", "name: child, labels: {kanon.dev/rule: x}", 1))
			return w.child(adoptable)
		},
		"the parent itself": func(w *world) *Child {
			return w.child(strings.Replace(adoptable, "name: child", "name: "+w.parent.GetName(), 1))
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := prepare(w)
			before := w.get(c.Object)
			if free := w.freeOf(c); free != nil {
				t.Error("it may be adopted")
			}
			if _, err := w.writer.Adopt(t.Context(), c, before, false); class(err) != "taken" {
				t.Errorf("Adopt: %v", err)
			}
			if after := w.get(c.Object); after.GetResourceVersion() != before.GetResourceVersion() {
				t.Error("it was written to")
			}
		})
	}
}
