package engine_test

import (
	"strings"
	"testing"
)

// gadgetRule makes a Gadget of each PARENT that is ready once it is there.
const gadgetRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: NAME}
spec:
  parent: {apiVersion: $GROUP/v1, kind: PARENT}
  children:
  - id: gadget
    readyWhen: ${parent.metadata.name != ""}
    template:
      apiVersion: $GROUP/v1
      kind: Gadget
      metadata: {name: "${parent.metadata.name}"}
      spec: {color: red}
`

// What others say in a child's status wakes the parents whose rule reads it, and no others. What they take from us
// wakes all.
func TestWhatNobodyReadsWakesNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Blind", "Seeing", "Gadget")
	rule := func(name, parent, more string) {
		w.rule(name, strings.NewReplacer("NAME", name, "PARENT", parent).Replace(gadgetRule)+more)
	}
	rule("blind", "Blind", "")
	rule("seeing", "Seeing", "  status: {color: \"${children.gadget.status.?color.orValue('none')}\"}\n")
	w.run()
	w.parent("Blind", "blind", "{}")
	w.parent("Seeing", "seeing", "{}")
	w.await(w.resource("Blind"), w.home, "blind", "is ready", isTrue("Ready"))
	w.await(w.resource("Seeing"), w.home, "seeing", "is ready", isTrue("Ready"))
	w.quiet()
	looks, gadgets := w.looks("blind"), w.resource("Gadget")
	for _, color := range []string{"green", "blue"} {
		for _, name := range []string{"blind", "seeing"} { // one informer brings both, in this order
			if err := w.merge(gadgets, w.home, name, `{"status":{"color":"`+color+`"}}`, "status"); err != nil {
				t.Fatal(err)
			}
		}
		w.await(w.resource("Seeing"), w.home, "seeing", "says "+color, has(color, "status", "color"))
	}
	w.quiet()
	if got := w.looks("blind"); got != looks {
		t.Errorf("it was looked at %d times for a status that no expression reads", got-looks)
	}
	w.patch(gadgets, w.home, "blind", `{"spec":{"color":"black"}}`)
	w.await(gadgets, w.home, "blind", "is red again", has("red", "spec", "color"))
}

// A kind that the cluster gets is no reason to reconcile the parents of other kinds.
func TestANewKindEnqueuesNoOtherParents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rule := func(name, parent string) {
		w.rule(name, strings.NewReplacer("NAME", name, "PARENT", parent).Replace(`
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: NAME}
spec:
  parent: {PARENT, namespaces: [$HOME]}
  children:
  - id: copy
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-copy"}
`))
	}
	rule("builtin", "apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {copied: 'yes'}}")
	rule("late", "apiVersion: $GROUP/v1, kind: Late")
	w.run()
	w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: early, namespace: $HOME, labels: {copied: 'yes'}}\n"))
	w.await(configMaps, w.home, "early-copy", "is made", exists)
	w.quiet()
	before := w.looks("early")
	w.define("Late")
	w.parent("Late", "late", "{}")
	w.await(configMaps, w.home, "late-copy", "is made", exists)
	w.quiet()
	if n := w.looks("early"); n != before {
		t.Errorf("the ConfigMap was reconciled %d times because of another kind", n-before)
	}
}
