package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/patching"
)

func unlabelled(name string) func(*unstructured.Unstructured) bool {
	return func(obj *unstructured.Unstructured) bool { _, there := obj.GetLabels()[name]; return !there }
}

// A patch of the parent itself does not wake itself for ever, and is released when the
// rule is not for the parent any more. At rest and after a restart nothing is sent.
func TestPatchOfTheParent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("r", strings.Replace(patchRule(`
- id: seen
  template: {metadata: {labels: {seen: "true"}, annotations: {size: "${string(size(parent.spec))}"}}}
`), "kind: Note}", "kind: Note, selector: {matchLabels: {live: \"true\"}}}", 1))
	stop := w.run()
	parent := w.object("apiVersion: $GROUP/v1\nkind: Note\nmetadata: {name: one, namespace: $HOME, labels: {live: \"true\"}}\nspec: {a: 1}\n")
	w.create(w.resource("Note"), parent)
	w.await(w.resource("Note"), w.home, "one", "is patched", label("seen"))
	w.await(w.resource("Note"), w.home, "one", "is ready", isTrue("Ready"))
	w.quiet()
	w.patch(w.resource("Note"), w.home, "one", `{"spec":{"b":2}}`)
	w.await(w.resource("Note"), w.home, "one", "has the new size", has("2", "metadata", "annotations", "size"))
	w.quiet()
	stop()
	from := w.requests.count()
	w.run()
	w.awaitLook("one")
	w.quiet()
	if got := w.writesSince(from, "notes"); len(got) != 0 {
		t.Errorf("writes after the restart: %q", got)
	}
	w.patch(w.resource("Note"), w.home, "one", `{"metadata":{"labels":{"live":null}}}`)
	live := w.await(w.resource("Note"), w.home, "one", "is released", unlabelled("seen"))
	if _, there := live.GetAnnotations()["size"]; there {
		t.Error("the annotation is there still")
	}
	w.quiet()
}

// A target that appears later is patched then, by its name and by its labels; one that
// leaves the selection is released, and what others change is put right. A restart, with
// all in place, writes nothing.
func TestPatchesFollowTheirTargets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.rule("r", patchRule(`
- id: named
  target: {apiVersion: v1, kind: ConfigMap, name: "${parent.metadata.name}-late"}
  template: {data: {from: "${parent.metadata.name}"}}
- id: selected
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {pick: "yes"}}}
  template: {data: {picked: "${parent.metadata.name}"}}
- id: secret
  target: {apiVersion: v1, kind: Secret, name: "${parent.metadata.name}"}
  template: {stringData: {token: "${parent.metadata.name}"}}
`))
	stop := w.run()
	w.parent("Note", "one", "{}")
	w.await(w.resource("Note"), w.home, "one", "says what it waits for", func(obj *unstructured.Unstructured) bool {
		return strings.Contains(conditionField(obj, "Reconciling", "message"), "patch named: ConfigMap "+w.home+"/one-late does not exist yet")
	})
	for _, name := range []string{"one-late", "a", "b"} {
		w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+", namespace: $HOME, labels: {pick: \"yes\"}}\ndata: {theirs: x}\n"))
	}
	w.create(secrets, w.object("apiVersion: v1\nkind: Secret\nmetadata: {name: one, namespace: $HOME}\nstringData: {token: theirs, other: x}\n"))
	w.await(w.resource("Note"), w.home, "one", "is ready", isTrue("Ready"))
	w.await(configMaps, w.home, "one-late", "is patched by its name", has("one", "data", "from"))
	for _, name := range []string{"one-late", "a", "b"} {
		w.await(configMaps, w.home, name, "is patched by its labels", has("one", "data", "picked"))
	}
	w.await(secrets, w.home, "one", "is patched", has("b25l", "data", "token"))
	if secret := w.get(secrets, w.home, "one"); secret.GetAnnotations()["kanon.dev/taken"] != "" {
		t.Error("a value of a Secret stands in its metadata")
	}
	w.patch(configMaps, w.home, "a", `{"data":{"picked":"mine"}}`)
	w.await(configMaps, w.home, "a", "is put right", has("one", "data", "picked"))
	w.patch(configMaps, w.home, "b", `{"metadata":{"labels":{"pick":"no"}}}`)
	w.await(configMaps, w.home, "b", "is released", has(nil, "data", "picked"))
	w.quiet()

	stop()
	w.patch(configMaps, w.home, "one-late", `{"metadata":{"labels":{"pick":"no"}}}`) // while nobody looks
	from := w.requests.count()
	w.run()
	w.await(configMaps, w.home, "one-late", "is released by its labels", has(nil, "data", "picked"))
	w.quiet()
	if got := append(w.writesSince(from, "configmaps/a"), append(w.writesSince(from, "secrets"), w.writesSince(from, "notes")...)...); len(got) != 0 {
		t.Errorf("writes after the restart: %q", got)
	}
	if live := w.get(configMaps, w.home, "one-late"); field(live, "data", "from") != "one" || field(live, "data", "theirs") != "x" {
		t.Errorf("its data is now %v", live.Object["data"])
	}
}

// Patches that a rule has no more are released, and all of a rule that is removed: at
// once, or after a restart. What was taken is given back, also then.
func TestPatchesGoWithTheirRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared, namespace: $HOME}\ndata: {mode: theirs}\n"))
	w.create(serviceAccounts, w.object("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: app, namespace: $HOME}\n"))
	mode := "- id: mode\n  target: {apiVersion: v1, kind: ConfigMap, name: shared}\n  template: {data: {mode: ours}}\n"
	pull := "- id: pull\n  target: {apiVersion: v1, kind: ServiceAccount, name: app}\n  template: {metadata: {labels: {x: \"true\"}}, imagePullSecrets: [{name: s}]}\n"
	// none takes part in nothing.
	none := "- id: none\n  when: ${parent.metadata.name == 'nobody'}\n  template: {metadata: {labels: {x: y}}}\n"
	// What was remembered for an apply that never came goes, too.
	w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vain, namespace: $HOME}\ndata: {mode: newer}\n"))
	inVain := func() {
		w.patch(configMaps, w.home, "vain", `{"metadata":{"annotations":{"`+patching.AnnotationTaken+`":"[{\"path\":[\"f:data\",\"f:mode\"],\"value\":\"older\",\"owner\":\"somebody\"}]"}}}`)
	}
	isClean := func() {
		w.await(configMaps, w.home, "vain", "remembers nothing", func(obj *unstructured.Unstructured) bool {
			return obj.GetAnnotations()[patching.AnnotationTaken] == "" && field(obj, "data", "mode") == "newer"
		})
	}
	stop := func() {}
	for _, away := range []bool{false, true} {
		w.rule("r", patchRule(mode+pull))
		stop()
		inVain()
		stop = w.run()
		isClean()
		w.parentOnce("Note", "one")
		w.await(configMaps, w.home, "shared", "is patched", has("ours", "data", "mode"))
		w.await(serviceAccounts, w.home, "app", "is patched", label("x"))
		w.await(w.resource("Note"), w.home, "one", "is ready", isTrue("Ready"))

		restart := func(change func()) {
			if away {
				stop()
			}
			change()
			if away {
				stop = w.run()
			}
		}
		restart(func() { w.rule("r", patchRule(mode+none)) })
		account := w.await(serviceAccounts, w.home, "app", "is released", unlabelled("x"))
		account = w.await(serviceAccounts, w.home, account.GetName(), "has no secrets", has(nil, "imagePullSecrets"))
		if got := patchManagersOf(account); len(got) > 0 {
			t.Errorf("away %v: managers are left: %q", away, got)
		}
		w.await(configMaps, w.home, "shared", "is patched still", has("ours", "data", "mode"))
		w.quiet()

		inVain()
		restart(func() { w.delete(configMaps, w.kanon, "r") })
		isClean()
		w.await(configMaps, w.home, "shared", "is released", func(obj *unstructured.Unstructured) bool {
			return field(obj, "data", "mode") == "theirs" && len(patchManagersOf(obj)) == 0
		})
		w.awaitGone(configMaps, w.kanon, w.recordOf("r"))
		w.quiet()
	}
}

// parentOnce makes a parent unless it is there.
func (w *world) parentOnce(kind, name string) {
	w.t.Helper()
	if _, err := w.at(w.resource(kind), w.home).Get(w.t.Context(), name, metav1.GetOptions{}); err != nil {
		w.parent(kind, name, "{}")
	}
}

// Where two parents contradict each other, the older is heard; with Refuse, and against
// other rules, nothing is taken. Each says why, and heals by itself.
func TestPatchesThatConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	for _, name := range []string{"shared", "refused"} {
		w.create(configMaps, w.object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+", namespace: $HOME}\ndata: {mode: theirs}\n"))
	}
	w.rule("r", patchRule(`
- id: mode
  when: ${parent.metadata.name != "refused"}
  target: {apiVersion: v1, kind: ConfigMap, name: shared}
  template: {data: {mode: "${parent.spec.mode}", "${parent.metadata.name}": here}}
- id: refused
  when: ${parent.metadata.name == "refused"}
  conflict: Refuse
  target: {apiVersion: v1, kind: ConfigMap, name: refused}
  template: {data: {mode: ours, more: x}}
`))
	stop := w.run()
	w.parent("Note", "a-older", "{mode: first}")
	w.await(w.resource("Note"), w.home, "a-older", "is ready", isTrue("Ready"))
	w.parent("Note", "b-younger", "{mode: second}")
	stalled := w.await(w.resource("Note"), w.home, "b-younger", "is stalled", isTrue("Stalled"))
	want := "patch mode: ConfigMap " + w.home + "/shared: Note " + w.home + "/a-older, which is older, sets data.mode to another value, so nothing is set there for this one"
	if got := conditionField(stalled, "Stalled", "message"); got != want {
		t.Errorf("the condition says %q, want %q", got, want)
	}
	if live := w.get(configMaps, w.home, "shared"); field(live, "data", "mode") != "first" || field(live, "data", "b-younger") != nil {
		t.Errorf("the data is %v", live.Object["data"])
	}
	w.parent("Note", "refused", "{}")
	stalled = w.await(w.resource("Note"), w.home, "refused", "is stalled", isTrue("Stalled"))
	if got := conditionField(stalled, "Stalled", "message"); !strings.Contains(got, "data.mode has another value, of field manager "+filepath.Base(os.Args[0])) {
		t.Errorf("the condition says %q", got)
	}
	if live := w.get(configMaps, w.home, "refused"); field(live, "data", "more") != nil {
		t.Errorf("half of the patch was applied: %v", live.Object["data"])
	}
	w.quiet()

	// What is not known of a parent after a restart takes nothing away.
	w.patch(w.resource("Note"), w.home, "b-younger", `{"spec":{"mode":"first"}}`)
	w.await(w.resource("Note"), w.home, "b-younger", "is ready", isTrue("Ready"))
	stop()
	w.patch(w.resource("Note"), w.home, "b-younger", `{"spec":{"mode":null}}`)
	w.run()
	w.await(w.resource("Note"), w.home, "b-younger", "is stalled", isTrue("Stalled"))
	w.quiet()
	if live := w.get(configMaps, w.home, "shared"); field(live, "data", "b-younger") != "here" {
		t.Errorf("what is not known was taken away: %v", live.Object["data"])
	}
	w.patch(configMaps, w.home, "refused", `{"data":{"mode":null}}`)
	w.await(w.resource("Note"), w.home, "refused", "is ready", isTrue("Ready"))
	w.delete(w.resource("Note"), w.home, "b-younger")
	w.await(configMaps, w.home, "shared", "has nothing of the younger", has(nil, "data", "b-younger"))

	// Another rule's patch is not taken from.
	w.rule("other", strings.Replace(patchRule("- id: mode\n  target: {apiVersion: v1, kind: ConfigMap, name: shared}\n  template: {data: {mode: third}}\n"),
		"name: r}\nspec:", "name: other}\nspec:\n  conditionPrefix: Other", 1))
	stalled = w.await(w.resource("Note"), w.home, "a-older", "is stalled by the other rule", isTrue("OtherStalled"))
	if got := conditionField(stalled, "OtherStalled", "message"); !strings.Contains(got, "patch mode of rule "+w.kanon+"/r sets it to something else") {
		t.Errorf("the condition says %q", got)
	}
	w.quiet()
	w.delete(configMaps, w.kanon, "r")
	w.await(configMaps, w.home, "shared", "is the other rule's", has("third", "data", "mode"))
	w.await(w.resource("Note"), w.home, "a-older", "is ready for the other rule", isTrue("OtherReady"))
	w.delete(configMaps, w.kanon, "other")
	w.await(configMaps, w.home, "shared", "is as it was", has("theirs", "data", "mode"))
}

// A parent that the rule holds goes when what it contributed to patches is released, and
// not before.
func TestParentThatIsHeldAwaitsItsPatches(t *testing.T) {
	t.Parallel()
	w, elsewhere := wideWorld(t)
	w.create(configMaps, w.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: board, namespace: "+elsewhere+"}, data: {a: one}}"))
	w.rule("wide", wideRule+`  patches:
  - id: enter
    target: {apiVersion: v1, kind: ConfigMap, name: board, namespace: "${parent.spec.elsewhere}"}
    template: {data: {team: "${parent.metadata.name}"}}
`)
	release := w.gate(types.ApplyPatchType, "/configmaps/board")
	w.run(func(o *engine.Options) { o.Client = release.client })
	w.team("red", elsewhere)
	w.await(configMaps, elsewhere, "board", "is patched", has("red", "data", "team"))
	w.patch(configMaps, elsewhere, "red-far", inUse)
	release.shut()
	w.delete(w.resource("Team"), w.home, "red")
	release.await()
	w.await(configMaps, elsewhere, "red-far", "is being deleted", isDeleting)
	w.awaitGone(w.resource("Zone"), "", w.home+"-red")
	w.quiet()
	if team := w.get(w.resource("Team"), w.home, "red"); !w.holds("wide")(team) {
		t.Errorf("the parent is not held: %v", team.GetFinalizers())
	}
	release.open()
	w.awaitGone(w.resource("Team"), w.home, "red")
	if board := w.get(configMaps, elsewhere, "board"); field(board, "data", "team") != nil || field(board, "data", "a") != "one" {
		t.Errorf("the target is %v", board.Object)
	}
}

// However many objects a selector selects, the parent is reconciled as often as with one,
// and not at all when one of them is put right.
func TestPatchOfManyTargets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Note")
	const targets = 60
	for i := range targets {
		w.create(configMaps, w.object(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: $HOME, labels: {pick: \"yes\"}}\n", i)))
	}
	w.rule("r", patchRule(`
- id: selected
  target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {pick: "yes"}}}
  template: {data: {picked: "${parent.metadata.name}"}}
`))
	w.run()
	w.parent("Note", "one", "{}")
	w.await(w.resource("Note"), w.home, "one", "is ready", isTrue("Ready"))
	w.quiet()
	if got := w.looks("one"); got > 6 {
		t.Errorf("the parent was reconciled %d times, for %d targets", got, targets)
	}
	before := w.looks("one")
	w.patch(configMaps, w.home, "c7", `{"data":{"picked":"mine"}}`)
	w.await(configMaps, w.home, "c7", "is put right", has("one", "data", "picked"))
	w.quiet()
	if got := w.looks("one"); got != before {
		t.Errorf("the parent was reconciled %d times because of a target that stays selected", got-before)
	}
}
