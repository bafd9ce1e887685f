package apply

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
)

const configMap = "{apiVersion: v1, kind: ConfigMap, metadata: {name: child}, data: {a: one, b: two}}"

// rawApply is a forced apply of JSON as manager, as it goes over the wire.
func (w *world) rawApply(manager string, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	w.t.Helper()
	body, err := json.Marshal(obj)
	if err != nil {
		w.t.Fatal(err)
	}
	yes := true
	return w.client(obj).Patch(w.t.Context(), obj.GetName(), types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: manager, Force: &yes})
}

// TestApplyAndUID holds why every apply carries the UID of the object that is meant.
func TestApplyAndUID(t *testing.T) {
	w := newWorld(t)
	obj := w.object(configMap)
	if _, err := w.rawApply("x", obj); err != nil {
		t.Fatalf("an apply without a UID creates what is not there, but: %v", err)
	}
	absent := w.object(strings.Replace(configMap, "child", "absent", 1))
	absent.SetUID("00000000-0000-0000-0000-000000000000")
	if _, err := w.rawApply("x", absent); !apierrors.IsConflict(err) {
		t.Errorf("an apply with a UID of what is not there: %v, want 409", err)
	}
	obj.SetUID("00000000-0000-0000-0000-000000000000")
	if _, err := w.rawApply("x", obj); !WrongUID(err) {
		t.Errorf("an apply with the UID of another object: %v, want 422 on metadata.uid", err)
	}
}

func TestAnObjectThatIsGoneOrReplaced(t *testing.T) {
	w := newWorld(t)
	c := w.child(configMap)
	live := w.sync(c, nil, ActionCreated, "POST")
	changed := w.child(strings.Replace(configMap, "one", "three", 1))
	if err := w.client(live).Delete(t.Context(), "child", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.fails(changed, live, "replaced", "PUT GET")
	if _, err := w.client(live).Get(t.Context(), "child", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it was created again: %v", err)
	}
	stranger := w.post("kubectl", configMap)
	err := w.fails(changed, live, "replaced", "PUT GET")
	if !strings.Contains(err, string(live.GetUID())) {
		t.Errorf("error %q does not tell the UID that was meant", err)
	}
	dropped := w.child(strings.Replace(configMap, ", b: two", "", 1))
	w.fails(dropped, live, "replaced", "GET")
	if got := w.get(stranger); got.GetResourceVersion() != stranger.GetResourceVersion() {
		t.Errorf("the stranger's was written to: %v", got.Object)
	}
}

// TestAPostsEntryHoldsFields holds why managedFields are rewritten: what a POST made us own by Update stays when an apply
// drops it.
func TestAPostsEntryHoldsFields(t *testing.T) {
	w := newWorld(t)
	w.post(fieldset.Manager, configMap)
	apply := w.object(configMap)
	if _, err := w.rawApply(fieldset.Manager, apply); err != nil {
		t.Fatal(err)
	}
	apply.Object["data"] = map[string]any{"a": "one"}
	live, err := w.rawApply(fieldset.Manager, apply)
	if err != nil {
		t.Fatal(err)
	}
	if got := fieldValue(live, "data", "b"); got != "two" {
		t.Fatalf("data.b = %v; the server has become better, the rewrite can go", got)
	}
	wantFields(t, live, fieldset.Manager, map[string]string{
		"Apply": `{"f:data":{"f:a":{}}}`, "Update": `{"f:data":{".":{},"f:a":{},"f:b":{}}}`,
	})
}

func TestAFieldThatLeavesTheTemplateGoes(t *testing.T) {
	w := newWorld(t)
	c := w.child(configMap)
	live := w.sync(c, nil, ActionCreated, "POST")
	live = w.patch("other", live, `[{"op": "add", "path": "/data/theirs", "value": "x"}]`)

	c = w.child(strings.Replace(configMap, "one", "three", 1)) // the same paths
	live = w.sync(c, live, ActionApplied, "PUT")

	c = w.child(strings.Replace(configMap, "b: two", "c: new", 1))
	live = w.sync(c, live, ActionApplied, "GET JSONPATCH APPLY")
	want := map[string]any{"a": "one", "c": "new", "theirs": "x"}
	if got := fmt.Sprint(fieldValue(live, "data")); got != fmt.Sprint(want) {
		t.Errorf("data = %v, want %v", got, want)
	}
	// What is left of the Update entry is the ownerReference.
	wantFields(t, live, fieldset.Manager, map[string]string{"Apply": `{"f:data":{"f:a":{},"f:c":{}}}`, "Update": "{}"})
	w.settled(c)

	c = w.child(strings.Replace(configMap, ", b: two", "", 1)) // the second time costs no more
	live = w.sync(c, live, ActionApplied, "APPLY")
	want = map[string]any{"a": "one", "theirs": "x"}
	if got := fmt.Sprint(fieldValue(live, "data")); got != fmt.Sprint(want) {
		t.Errorf("data = %v, want %v", got, want)
	}
	w.settled(c)
}

func TestAnItemOfAListThatLeavesTheTemplateGoes(t *testing.T) {
	w := newWorld(t)
	withSidecar := deployment + "      - {name: sidecar, image: i, ports: [{containerPort: 81}]}\n"
	c := w.child(withSidecar)
	live := w.sync(c, nil, ActionCreated, "POST")
	c = w.child(strings.Replace(deployment, ", {name: B, value: b}", "", 1))
	live = w.sync(c, live, ActionApplied, "GET JSONPATCH APPLY")
	containers, ok := fieldValue(live, "spec", "template", "spec", "containers").([]any)
	if !ok || len(containers) != 1 {
		t.Fatalf("containers = %v", containers)
	}
	env, ok := containers[0].(map[string]any)["env"].([]any)
	if !ok || len(env) != 1 {
		t.Errorf("env = %v", env)
	}
	w.settled(c)
}

// TestAncientChanges holds what the server does with more than ten updaters, and what then happens to fields that leave the
// template.
func TestAncientChanges(t *testing.T) {
	foldOurs := func(w *world, live *unstructured.Unstructured) *unstructured.Unstructured {
		for i := range 11 {
			live = w.patch(fmt.Sprintf("updater-%02d", i), live,
				fmt.Sprintf(`[{"op": "add", "path": "/data/u%02d", "value": "x"}]`, i))
		}
		if _, ok := fieldsOf(w.t, live, fieldset.Manager)["Update"]; ok {
			w.t.Fatalf("our Update entry is still there: %v", fieldsOf(w.t, live, fieldset.Manager))
		}
		if folded := fieldsOf(w.t, live, fieldset.AncientManager)["Update"]; !strings.Contains(folded, `"f:b":{}`) {
			w.t.Fatalf("%s = %v, want what was ours in it", fieldset.AncientManager, folded)
		}
		return live
	}
	w := newWorld(t)
	c := w.child(configMap)
	live := foldOurs(w, w.sync(c, nil, ActionCreated, "POST"))
	live = w.sync(c, live, ActionApplied, "APPLY") // nothing of it is ours any more
	w.settled(c)
	c = w.child(strings.Replace(configMap, ", b: two", "", 1))
	live = w.sync(c, live, ActionApplied, "GET JSONPATCH APPLY")
	data, _ := fieldValue(live, "data").(map[string]any)
	if _, ok := data["b"]; ok || len(data) != 12 {
		t.Errorf("data = %v, want a and what the eleven others added", data)
	}
	w.settled(c)
}

// TestTheRewriteIsGuardedByTheResourceVersion lets managedFields change between the read and the rewrite.
func TestTheRewriteIsGuardedByTheResourceVersion(t *testing.T) {
	w := newWorld(t)
	live := w.sync(w.child(configMap), nil, ActionCreated, "POST")
	c := w.child(configMap)
	entries, err := c.EntriesForApply(live)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := json.Marshal(fieldset.ManagedFieldsPatch(live, entries))
	if err != nil {
		t.Fatal(err)
	}
	w.patch("other", live, `[{"op": "add", "path": "/data/theirs", "value": "x"}]`)
	_, err = w.client(live).Patch(t.Context(), "child", types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: fieldset.Manager})
	if !apierrors.IsConflict(err) {
		t.Errorf("rewrite of an old version: %v, want 409", err)
	}
}

// TestBytesCountFieldsTwice holds that the limit on an object's size counts fieldsV1 of the POST and of the first apply: of
// 1.33 MB, 1.67 MB would become, which etcd refuses (its limit is 1.5 MiB). Keys of a ConfigMap are the worst case,
// because every key is a path.
func TestBytesCountFieldsTwice(t *testing.T) {
	w := newWorld(t)
	withKeys := func(name string, keys int) *unstructured.Unstructured {
		obj := w.object(strings.Replace(configMap, "child", name, 1))
		data := map[string]any{}
		for i := range keys {
			data[fmt.Sprintf("key-%055d", i)] = strings.Repeat("v", 134)
		}
		obj.Object["data"] = data
		return obj
	}
	size := func(obj *unstructured.Unstructured) int {
		text, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		return len(text)
	}
	post := func(obj *unstructured.Unstructured) *unstructured.Unstructured {
		created, err := w.client(obj).Create(t.Context(), obj, metav1.CreateOptions{FieldManager: fieldset.Manager})
		if err != nil {
			t.Fatal(err)
		}
		return created
	}
	half := withKeys("half", 2500)
	created := post(half)
	applied, err := w.rawApply(fieldset.Manager, half)
	if err != nil {
		t.Fatal(err)
	}
	fields, growth := size(created)-size(half), size(applied)-size(created)
	t.Logf("%d bytes rendered, %d after the POST, %d after the first apply", size(half), size(created), size(applied))
	if growth < fields*9/10 || growth > fields*11/10 {
		t.Errorf("the first apply adds %d bytes, want about the %d that the POST's entry has", growth, fields)
	}

	whole := withKeys("whole", 5000)
	if got := size(post(whole)); got < 1_300_000 || got > 1_350_000 {
		t.Errorf("%d bytes after the POST", got)
	}
	_, err = w.rawApply(fieldset.Manager, whole)
	if err == nil || !strings.Contains(err.Error(), "request is too large") {
		t.Errorf("first apply: %v, want it refused as too large", err)
	}
	if !Permanent(err) {
		t.Errorf("%v is not seen to be permanent", err)
	}
}
