package guard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/rules/syntax"
)

// maxNamed bounds how many objects a message names.
const maxNamed = 10

// Blocked says how to confirm the revision, and what it would delete. It is empty where the guard does not block the revision,
// or does not know yet whether it does. The important things come first, because readers cut off long messages.
func (g *Guard) Blocked() string {
	maybe, sure := g.tallies[possible], g.tallies[certain]
	if g.phase != collecting || g.tallies[unreported].parents > 0 || sure.objects == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "nothing is deleted until the rule, or the ConfigMap that contains it, is annotated %s: %q",
		syntax.AnnotationConfirmPrune, g.revision.Hash)
	fmt.Fprintf(&b, "\nthis revision of the rule would delete %s", count(sure.objects, "object"))
	if maybe.parents > 0 {
		fmt.Fprintf(&b, ", and up to %d more of %s that cannot be evaluated now", maybe.objects, count(maybe.parents, "parent"))
	}
	switch {
	case sure.grave > 0:
		b.WriteString(", among them a PersistentVolumeClaim, a Namespace or a CustomResourceDefinition")
	case sure.objects+maybe.objects > g.revision.Limit:
		fmt.Fprintf(&b, ", and pruneLimit is %d", g.revision.Limit)
	}
	b.WriteString(": " + strings.Join(g.named(), ", "))
	if n := sure.objects - maxNamed; n > 0 {
		fmt.Fprintf(&b, " and %d more", n)
	}
	return b.String()
}

// named are the first objects that the revision would delete, the grave ones before the others.
func (g *Guard) named() []string {
	var objects []identity.ID
	for _, parent := range g.parents(certain) {
		objects = append(objects, g.losses[parent].objects...)
	}
	slices.SortFunc(objects, func(a, b identity.ID) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.String(), b.String()))
	})
	var names []string
	for _, object := range objects[:min(len(objects), maxNamed)] {
		names = append(names, object.String())
	}
	return names
}

func rank(object identity.ID) int {
	if isGrave(object) {
		return 0
	}
	return 1
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
