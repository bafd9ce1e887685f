package reconcile

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/restmapping"
)

// A child is written only if it is still the object from which it was rendered. One that is refused is known as the
// object before the write nevertheless: the guard counts what may have to be recreated.
func TestChildOfAnotherUIDIsNotWritten(t *testing.T) {
	t.Parallel()
	kind := restmapping.Kind{GVR: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}}
	other := schema.GroupVersionResource{Version: "v2", Resource: "secrets"}
	tests := map[string]struct {
		shownBy schema.GroupVersionResource
		shown   *unstructured.Unstructured // to the evaluation
		live    *unstructured.Unstructured // when it is written
		repairs bool
		refused bool
	}{
		"as it was":                     {shownBy: kind.GVR, shown: secret("a"), live: secret("a")},
		"it never was":                  {shownBy: kind.GVR},
		"it came meanwhile":             {shownBy: kind.GVR, live: secret("a")},
		"it went":                       {shownBy: kind.GVR, shown: secret("a"), refused: true},
		"it was replaced":               {shownBy: kind.GVR, shown: secret("a"), live: secret("b"), refused: true},
		"it went before its repair":     {shownBy: kind.GVR, shown: secret("a"), repairs: true},
		"replaced before its repair":    {shownBy: kind.GVR, shown: secret("a"), live: secret("b"), repairs: true, refused: true},
		"another version shows the old": {shownBy: other, shown: secret("a"), live: secret("b")},
	}
	for name, tc := range tests {
		c := &pass{memory: &conditions.Memory{}, reader: &reader{}}
		c.reader.noteSeen(tc.shownBy, tc.shown)
		w := &childWrite{object: secret(""), id: identity.Of(secret("")), repairs: tc.repairs}
		if err := c.chooseBefore(t.Context(), kind, w, tc.live, func() {}); errors.Is(err, errChildGone) != tc.refused {
			t.Errorf("%s: the error is %v, want a refusal: %t", name, err, tc.refused)
		}
		if w.before != tc.live {
			t.Errorf("%s: the object before the write is %v, want %v", name, w.before, tc.live)
		}
	}
}

// secret is a Secret of that UID.
func secret(uid types.UID) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	obj.SetNamespace("team-a")
	obj.SetName("s")
	obj.SetUID(uid)
	return obj
}
