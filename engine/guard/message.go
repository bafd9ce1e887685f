package guard

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/rules/syntax"
)

// maxNamed bounds how many objects a message names.
const maxNamed = 10

// What the parts of a message begin with.
const (
	beginRevision = "is annotated " + syntax.AnnotationConfirmPrune + ": "
	beginReason   = "\nthis revision of the rule "
	beginMore     = " and more: "
)

// Blocked says how to confirm the revision, and what it would delete. It is empty where the guard does not block the revision,
// or does not know yet whether it does. The important things come first, because readers cut off long messages.
func (g *Guard) Blocked() string {
	maybe, sure := g.tallies[possible], g.tallies[certain]
	if g.phase != collecting || g.tallies[unreported].parents > 0 || sure.objects == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "nothing is deleted until the rule, or the ConfigMap that contains it, %s%q", beginRevision, g.revision.Hash)
	fmt.Fprintf(&b, "%swould delete %s", beginReason, count(sure.objects, "object"))
	if maybe.parents > 0 {
		fmt.Fprintf(&b, ", and up to %d more of %s that cannot be evaluated now", maybe.objects, count(maybe.parents, "parent"))
	}
	switch {
	case sure.grave > 0:
		b.WriteString(", among them a PersistentVolumeClaim, a Namespace or a CustomResourceDefinition")
	case sure.objects+maybe.objects > g.revision.Limit:
		fmt.Fprintf(&b, ", and pruneLimit is %d", g.revision.Limit)
	}
	names, more := g.named()
	b.WriteString(": " + strings.Join(names, ", "))
	if len(more) > 0 {
		b.WriteString(beginMore + strings.Join(more, ", "))
	}
	return b.String()
}

// named are the first objects that the revision would delete, the grave ones before the others. more counts those that are not
// among them, by kind.
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

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Held is what a message of Blocked says.
type Held struct {
	// Revision is what confirms the deletions, as the value of syntax.AnnotationConfirmPrune.
	Revision string
	// Reason is how much the revision would delete, such as "would delete 12 objects, and pruneLimit is 10".
	Reason string
	// Objects are the first of these objects, such as "Service team-a/web", and More counts the others, such as "2 Service".
	Objects, More []string
}

// ParseHeld reads a message of Blocked, with whatever was put before its lines and at the end of the first. It reports whether
// the message is one.
func ParseHeld(message string) (*Held, bool) {
	_, rest, ok1 := strings.Cut(message, beginRevision)
	quoted, _ := strconv.QuotedPrefix(rest)
	revision, err := strconv.Unquote(quoted)
	_, rest, ok2 := strings.Cut(rest, beginReason)
	reason, objects, ok3 := strings.Cut(rest, ": ")
	if !ok1 || !ok2 || !ok3 || err != nil {
		return nil, false
	}
	held := &Held{Revision: revision, Reason: reason}
	objects, more, isMore := strings.Cut(objects, beginMore)
	if held.Objects = strings.Split(objects, ", "); isMore {
		held.More = strings.Split(more, ", ")
	}
	return held, true
}
