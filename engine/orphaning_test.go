package engine_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Of a parent that is held and deleted with orphaning every child stays: those of
// which the garbage collector takes the owner reference, and those that never had one.
// It is the same when the garbage collector is done before Kanon looks.
func TestOrphaningDeletionOfAParentThatIsHeld(t *testing.T) {
	t.Parallel()
	w, elsewhere := wideWorld(t)
	w.rule("wide", wideRule)
	stop := w.run()
	teams := w.resource("Team")
	for _, away := range []bool{false, true} {
		name := map[bool]string{false: "here", true: "away"}[away]
		w.team(name, elsewhere)
		if away {
			stop()
		}
		orphan := metav1.DeletePropagationOrphan
		if err := w.at(teams, w.home).Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
			t.Fatal(err)
		}
		if away {
			w.await(teams, w.home, name, "is held by the rule alone", func(obj *unstructured.Unstructured) bool {
				return w.holds("wide")(obj) && len(obj.GetFinalizers()) == 1
			})
			w.run()
		}
		w.awaitGone(teams, w.home, name)
		w.quiet()
		w.get(configMaps, w.home, name+"-near")
		w.get(configMaps, elsewhere, name+"-far")
		w.get(w.resource("Zone"), "", w.home+"-"+name)
	}
}
