package apply

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestSyncStatus follows the status of one object through what its rule and others do to it.
func TestSyncStatus(t *testing.T) {
	w := newWorld(t)
	w.install("Statused", "x-kubernetes-list-type: map\n                x-kubernetes-list-map-keys: [type]")
	gadget := w.post("someone", `{apiVersion: apply.example.com/v1, kind: Statused, metadata: {name: g}, spec: {items: []}}`)
	condition := func(conditionType, status string) any {
		return map[string]any{"type": conditionType, "status": status}
	}
	say := func(live *unstructured.Unstructured, want bool, conditions ...any) *unstructured.Unstructured {
		t.Helper()
		w.requests.take()
		live, written, err := w.statuses.Sync(t.Context(), Status{
			GVR: resourceOf(gadget), Object: live, Manager: "kanon-status-x", Subresource: true,
			Content: map[string]any{"conditions": conditions},
		})
		requests := map[bool]string{true: "APPLY"}[want]
		if sent := w.requests.take(); err != nil || written != want || sent != requests {
			t.Fatalf("Sync: written is %t by %q, %v; want %t by %q", written, sent, err, want, requests)
		}
		return live
	}
	live := say(gadget, true, condition("Ready", "False"), condition("Extra", "True"))
	say(live, false, condition("Ready", "False"), condition("Extra", "True"))

	live = w.patch("other", live, `[{"op": "add", "path": "/status/conditions/-", "value": {"type": "Theirs", "status": "True"}}]`, "status")
	live = say(live, false, condition("Ready", "False"), condition("Extra", "True")) // theirs is none of ours
	anybody := func(string) bool { return true }
	if !IsOwnedByAnother(live, "kanon-status-x", anybody, "Theirs") || IsOwnedByAnother(live, "kanon-status-x", anybody, "Ready") {
		t.Error("IsOwnedByAnother does not tell theirs from ours")
	}

	live = say(live, true, condition("Ready", "True")) // Extra goes, Theirs stays
	if list, _ := fieldValue(live, "status", "conditions").([]any); len(list) != 2 {
		t.Errorf("conditions = %v, want Ready and Theirs", list)
	}
	live = w.patch("other", live, `[{"op": "replace", "path": "/status/conditions/0/status", "value": "Unknown"}]`, "status")
	live = say(live, true, condition("Ready", "True"))
	say(live, false, condition("Ready", "True"))

	if err := w.client(gadget).Delete(t.Context(), "g", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.statuses.Sync(t.Context(), Status{
		GVR: resourceOf(gadget), Object: live, Manager: "kanon-status-x", Subresource: true, Content: map[string]any{},
	})
	if class(err) != "replaced" {
		t.Errorf("status of an object that is gone: %v, want *ReplacedError", err)
	}
	w.post("someone", `{apiVersion: apply.example.com/v1, kind: Statused, metadata: {name: g}, spec: {items: []}}`)
	_, _, err = w.statuses.Sync(t.Context(), Status{
		GVR: resourceOf(gadget), Object: live, Manager: "kanon-status-x", Subresource: true, Content: map[string]any{"named": map[string]any{}},
	})
	if class(err) != "replaced" {
		t.Errorf("status of an object that was replaced: %v, want *ReplacedError", err)
	}
	if now := w.get(gadget); now.Object["status"] != nil {
		t.Errorf("the other object says %v", now.Object["status"])
	}
}

// TestReleaseOfStatus holds that a status is removed although the kind looks as if it had no subresource, as it does while
// discovery is incomplete.
func TestReleaseOfStatus(t *testing.T) {
	w := newWorld(t)
	w.install("Released", "")
	released := w.post("someone", `{apiVersion: apply.example.com/v1, kind: Released, metadata: {name: r}, spec: {items: []}}`)
	s := Status{GVR: resourceOf(released), Object: released, Manager: "kanon-status-x", Subresource: true}
	s.Content = map[string]any{"named": map[string]any{"a": map[string]any{"color": "red"}}}
	for _, want := range []bool{true, true, false} {
		live, written, err := w.statuses.Sync(t.Context(), s)
		if err != nil || written != want {
			t.Fatalf("Sync of %v: written is %t, %v; want %t", s.Content, written, err, want)
		}
		s.Object, s.Content, s.Subresource = live, nil, false
	}
	if now := w.get(released); now.Object["status"] != nil {
		t.Errorf("its status is still %v", now.Object["status"])
	}
}

// TestStatusOfMaps holds that maps in a status, in a schema or outside of it, are seen to be in sync, and to differ.
func TestStatusOfMaps(t *testing.T) {
	w := newWorld(t)
	w.install("Mapped", "")
	mapped := w.post("someone", `{apiVersion: apply.example.com/v1, kind: Mapped, metadata: {name: m}, spec: {items: []}}`)
	content := func(color string) map[string]any {
		inner := map[string]any{"color": color, "size": "big"}
		return map[string]any{"free": map[string]any{"inner": inner, "list": []any{inner}, "empty": map[string]any{}}, "named": map[string]any{"a": inner}}
	}
	say := func(live *unstructured.Unstructured, color string, want bool) *unstructured.Unstructured {
		t.Helper()
		live, written, err := w.statuses.Sync(t.Context(), Status{
			GVR: resourceOf(mapped), Object: live, Manager: "kanon-status-x", Subresource: true, Content: content(color),
		})
		if err != nil || written != want {
			t.Fatalf("Sync: written is %t, %v; want %t", written, err, want)
		}
		return live
	}
	live := say(mapped, "red", true)
	live = say(live, "red", false)
	live = say(live, "blue", true)
	say(live, "blue", false)
}

// TestStatusOfOneVersion holds that a status which was computed from a version of the object is not written over another.
func TestStatusOfOneVersion(t *testing.T) {
	w := newWorld(t)
	w.install("Exact", "x-kubernetes-list-type: map\n                x-kubernetes-list-map-keys: [type]")
	gadget := w.post("someone", `{apiVersion: apply.example.com/v1, kind: Exact, metadata: {name: g}, spec: {items: []}}`)
	condition := func(conditionType string) any { return map[string]any{"type": conditionType, "status": "True"} }
	say := func(live *unstructured.Unstructured, conditionType string) (*unstructured.Unstructured, error) {
		t.Helper()
		live, _, err := w.statuses.Sync(t.Context(), Status{
			GVR: resourceOf(gadget), Object: live, Manager: "kanon-status-x", Subresource: true, Exact: true,
			Content: map[string]any{"conditions": []any{condition(conditionType)}},
		})
		return live, err
	}
	live, err := say(gadget, "Ours")
	if err != nil {
		t.Fatal(err)
	}
	newer := w.patch("other", live, `[{"op": "add", "path": "/status/conditions/-", "value": {"type": "Theirs", "status": "True"}}]`, "status")
	if _, err := say(live, "Stale"); class(err) != "replaced" {
		t.Errorf("a status computed from an old version: %v, want *ReplacedError", err)
	}
	if _, err = say(newer, "New"); err != nil {
		t.Fatal(err)
	}
}
