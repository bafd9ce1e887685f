package apply

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kanon.dev/kanon/engine/apply/fieldset"
)

// A generated value is written where there is none, and never over one that memory does not show yet.
func TestAGeneratedFieldReplacesNothing(t *testing.T) {
	const secret = "{apiVersion: v1, kind: Secret, metadata: {name: child}, data: {user: eA==}}"
	const first, second, theirs = "Zmlyc3Q=", "c2Vjb25k", "dGhlaXJz"
	for name, tied := range map[string]bool{"with an owner reference": true, "tracked": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var controller *metav1.OwnerReference
			owner := w.owner
			if tied {
				controller = controllerRef(w.parent)
			}
			owner.Tracked = !tied
			child := func(text string, policy fieldset.Policy) *Child {
				c, err := w.writer.Prepare(t.Context(), wanted(w.object(text), owner, controller, policy))
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			generating := func(value string) *Child {
				return child(strings.Replace(secret, "user: eA==", "user: eA==, password: "+value, 1),
					fieldset.Policy{New: []fieldset.Path{{{Field: "data"}, {Field: "password"}}}})
			}
			live := w.sync(child(secret, fieldset.Policy{}), nil, ActionCreated, "POST")
			w.sync(generating(first), live, ActionApplied, "GET JSONPATCH APPLY")
			// An earlier leader had written it, and memory is from before that.
			w.fails(generating(second), live, "replaced", "GET")
			if got := fieldValue(w.get(live), "data", "password"); got != first {
				t.Errorf("the password is %v, want the first", got)
			}
			// Somebody sets it between the look and the write.
			live = w.patch("other", w.get(live), `[{"op": "remove", "path": "/data/password"}]`)
			w.patch("other", live, `[{"op": "add", "path": "/data/password", "value": "`+theirs+`"}]`)
			if _, err := w.trySync(generating(second), live); !apierrors.IsConflict(err) && class(err) != "replaced" {
				t.Errorf("it is written, or not for that: %v", err)
			}
			if got := fieldValue(w.get(live), "data", "password"); got != theirs {
				t.Errorf("the password is %v, want theirs", got)
			}
		})
	}
}

// A value that was kept from an outdated object replaces no newer one, whatever way the child is written.
func TestAKeptFieldReplacesNothing(t *testing.T) {
	const secret = "{apiVersion: v1, kind: Secret, metadata: {name: child}, data: {user: eA==, password: Zmlyc3Q=}}"
	const theirs = "dGhlaXJz"
	policy := fieldset.Policy{Kept: []fieldset.Path{{{Field: "data"}, {Field: "password"}}}}
	for name, text := range map[string]string{
		"by a PUT":    strings.Replace(secret, "eA==", "eQ==", 1),
		"by a claim":  strings.Replace(secret, "user: eA==", "user: eA==, more: eA==", 1),
		"by an apply": strings.Replace(secret, "user: eA==", "user: eA==, other: eA==", 1),
	} {
		for edit, patch := range map[string]string{
			"set":     `[{"op": "replace", "path": "/data/password", "value": "` + theirs + `"}]`,
			"removed": `[{"op": "remove", "path": "/data/password"}]`,
		} {
			t.Run(name+"/"+edit, func(t *testing.T) {
				w := newWorld(t)
				owner := controllerRef(w.parent)
				keeping := func(text string) *Child {
					c, err := w.writer.Prepare(t.Context(), wanted(w.object(text), w.owner, owner, policy))
					if err != nil {
						t.Fatal(err)
					}
					return c
				}
				seen := w.sync(keeping(secret), nil, ActionCreated, "POST")
				if name == "by an apply" {
					seen = w.sync(keeping(strings.Replace(secret, "user: eA==", "user: eA==, more: eA==", 1)), seen, ActionApplied, "GET JSONPATCH APPLY")
				}
				want := fieldValue(w.patch("other", seen, patch), "data", "password")
				if _, err := w.trySync(keeping(text), seen); !apierrors.IsConflict(err) && class(err) != "replaced" {
					t.Errorf("it is written, or not for that: %v", err)
				}
				if got := fieldValue(w.get(seen), "data", "password"); got != want {
					t.Errorf("the password is %v, want %v", got, want)
				}
				// What the next evaluation keeps is written.
				if edit == "set" {
					next, err := w.trySync(keeping(strings.Replace(text, "Zmlyc3Q=", theirs, 1)), w.get(seen))
					if err != nil || next.Action != ActionApplied {
						t.Errorf("the newer value: %s, %v", next.Action, err)
					}
				}
			})
		}
	}
}
