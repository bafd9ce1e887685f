package apply

import (
	"strings"
	"testing"
)

const withoutOwner = `[{"op": "remove", "path": "/metadata/ownerReferences"}]`

// An apply leaves the owner reference of the POST where it is: it does not bring back one that was taken, however old the
// knowledge is from which it was made, and it needs to know nothing of other writes.
func TestApplyHasNoSayInTheOwnerReference(t *testing.T) {
	w := newWorld(t)
	live := w.sync(w.child(configMap), nil, ActionCreated, "POST")
	c := w.child(strings.Replace(configMap, ", b: two", "", 1))
	live = w.sync(c, live, ActionApplied, "GET JSONPATCH APPLY")
	w.settled(c)
	if len(live.GetOwnerReferences()) != 1 {
		t.Fatalf("owner references are %v", live.GetOwnerReferences())
	}
	w.patch("somebody", live, `[{"op": "add", "path": "/data/c", "value": "three"}]`)
	c = w.child(strings.Replace(configMap, "one, b: two", "four", 1))
	w.sync(c, live, ActionApplied, "APPLY")
	live = w.get(live)
	w.settled(c)

	w.patch("gc", live, withoutOwner)
	c = w.child(strings.Replace(configMap, "one, b: two", "five", 1))
	w.fails(c, live, "untied", "APPLY")
	live = w.get(live)
	if len(live.GetOwnerReferences()) != 0 || fieldValue(live, "data", "a") != "five" {
		t.Errorf("it became %v", live.Object)
	}
	w.sync(c, live, ActionApplied, "APPLY")
	w.settled(c)
}

// Once an apply has brought it back, a child is applied as it was seen. Where others have written since, it is read first;
// where they took the reference once more, the caller is asked.
func TestChildThatIsTiedAgainIsAppliedAsSeen(t *testing.T) {
	w := newWorld(t)
	c := w.child(configMap)
	live := w.patch("gc", w.sync(c, nil, ActionCreated, "POST"), withoutOwner)
	live = w.sync(c, live, ActionApplied, "APPLY")
	if len(live.GetOwnerReferences()) != 1 {
		t.Fatalf("owner references are %v", live.GetOwnerReferences())
	}
	w.settled(c)
	live = w.get(live)
	w.patch("somebody", live, `[{"op": "add", "path": "/data/c", "value": "three"}]`)
	changed := w.child(strings.Replace(configMap, "one", "four", 1))
	live = w.sync(changed, live, ActionApplied, "APPLY GET APPLY")
	if got := fieldValue(live, "data", "c"); got != "three" || len(live.GetOwnerReferences()) != 1 {
		t.Errorf("it became %v", live.Object)
	}
	w.settled(changed)

	untied := w.patch("gc", live, withoutOwner)
	w.fails(c, live, "untied", "APPLY GET")
	if got := w.get(live); got.GetResourceVersion() != untied.GetResourceVersion() {
		t.Errorf("it was written to: %v", got.Object)
	}
	live = w.sync(c, untied, ActionApplied, "APPLY")
	if len(live.GetOwnerReferences()) != 1 {
		t.Errorf("owner references are %v", live.GetOwnerReferences())
	}
}

// Each way of writing that reads the child first looks at its owner reference, too.
func TestUntiedChild(t *testing.T) {
	dropped := strings.Replace(configMap, ", b: two", "", 1)
	for name, c := range map[string]struct {
		text, requests string
		// seen is true where the caller saw the child with its reference, and guarded where its content is to stay.
		seen, guarded bool
	}{
		"not seen":          {text: configMap, requests: "POST GET"},
		"not seen, guarded": {text: configMap, requests: "POST GET", guarded: true},
		"entries rewritten": {text: dropped, requests: "GET JSONPATCH", seen: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			live := w.sync(w.child(configMap), nil, ActionCreated, "POST")
			w.patch("gc", live, withoutOwner)
			if !c.seen {
				live = nil
			}
			child, write := w.child(c.text), w.writer.Sync
			if c.guarded {
				write = w.writer.Ensure
			}
			w.requests.take()
			_, err := write(t.Context(), child, live)
			if sent := w.requests.take(); class(err) != "untied" || sent != c.requests {
				t.Errorf("%v (%s) by %q, want untied by %q", err, class(err), sent, c.requests)
			}
			if got := w.get(child.Object); len(got.GetOwnerReferences()) != 0 {
				t.Errorf("it has an owner reference again: %v", got.Object)
			}
		})
	}
}
