package guard

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// maxNamed bounds how many objects a message names.
const maxNamed = 10

// Blocked describes what a revision would delete and may not.
type Blocked struct {
	// Revision is the value of syntax.AnnotationConfirmPrune that confirms the deletions.
	Revision string
	// Reason says how much the revision would delete, such as "would delete 12 objects, and pruneLimit is 10".
	Reason string
	// Objects are the first of these objects, such as "Service team-a/web", and More counts the others, such as "2 Service".
	Objects, More []string
}

// String is a message for users: how to confirm the revision, and what it would delete. The most important parts come
// first, because readers cut off long messages.
func (b *Blocked) String() string {
	text := fmt.Sprintf("nothing is deleted until the rule, or the ConfigMap that contains it, is annotated %s: %q\nthis revision of the rule %s: %s",
		syntax.AnnotationConfirmPrune, b.Revision, b.Reason, strings.Join(b.Objects, ", "))
	if len(b.More) > 0 {
		text += " and more: " + strings.Join(b.More, ", ")
	}
	return text
}

// Blocked returns what the guard blocks. It is nil if the guard does not block the revision, or does not know yet.
func (g *Guard) Blocked() *Blocked {
	maybe, sure := g.tallies[possible], g.tallies[certain]
	if g.phase != collecting || g.tallies[unreported].parents > 0 || sure.objects == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("would delete " + diagnostic.Counted(sure.objects, "object"))
	if maybe.parents > 0 {
		fmt.Fprintf(&b, ", and up to %d more of %s that cannot be evaluated now", maybe.objects, diagnostic.Counted(maybe.parents, "parent"))
	}
	switch {
	case sure.grave > 0:
		b.WriteString(", among them a PersistentVolumeClaim, a Namespace or a CustomResourceDefinition")
	case sure.objects+maybe.objects > g.revision.Limit:
		fmt.Fprintf(&b, ", and pruneLimit is %d", g.revision.Limit)
	}
	names, more := g.named()
	return &Blocked{Revision: g.revision.Hash, Reason: b.String(), Objects: names, More: more}
}

// named returns the first objects that the revision would delete, the grave ones first. more counts the others by kind.
func (g *Guard) named() (names, more []string) {
	var objects []identity.ID
	for _, parent := range g.parents(certain) {
		objects = append(objects, g.losses[parent].objects...)
	}
	slices.SortFunc(objects, func(a, b identity.ID) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.String(), b.String()))
	})
	first := objects[:min(len(objects), maxNamed)]
	for _, object := range first {
		names = append(names, object.String())
	}
	counts := make(map[string]int)
	for _, object := range objects[len(first):] {
		counts[object.GroupKind.String()]++
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		more = append(more, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	return names, more
}

func rank(object identity.ID) int {
	if isGrave(object) {
		return 0
	}
	return 1
}
