package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/rules"
)

// message says what to do, and what the guard holds: of a text that is cut off the first is left.
func (g *guard) message() string {
	var refs []apply.Ref
	for _, doomed := range g.doomed {
		refs = append(refs, doomed...)
	}
	slices.SortFunc(refs, func(a, b apply.Ref) int {
		return cmp.Or(cmp.Compare(graveness(b), graveness(a)), cmp.Compare(a.String(), b.String()))
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%s: nothing is deleted until the rule, or the ConfigMap that holds it, is annotated %s: %q",
		conditions.ReasonPruneHeld, rules.AnnotationConfirmPrune, g.revision)
	fmt.Fprintf(&b, "\nthis revision of the rule would delete %s", countOf(len(refs), "object"))
	if n := len(g.doubtful); n > 0 {
		fmt.Fprintf(&b, ", and up to %d more of %s that cannot be evaluated now", g.mayGo.all, countOf(n, "parent"))
	}
	switch {
	case g.wouldGo.grave > 0:
		b.WriteString(", among them a PersistentVolumeClaim, a Namespace or a CustomResourceDefinition")
	case g.wouldGo.all+g.mayGo.all > g.limit:
		fmt.Fprintf(&b, ", and pruneLimit is %d", g.limit)
	}
	for i, ref := range refs {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		if i == maxHeld {
			fmt.Fprintf(&b, " and %d more", len(refs)-i)
			break
		}
		b.WriteString(separator + ref.String())
	}
	return b.String()
}

func graveness(ref apply.Ref) int {
	if isGrave(ref) {
		return 1
	}
	return 0
}

func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
