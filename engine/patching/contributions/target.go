package contributions

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/patchset"
	"kanon.dev/kanon/engine/conditions"
)

// patch is what is known of one patch.
type patch struct {
	id string
	// kind is that of the targets.
	kind    schema.GroupVersionKind
	targets map[types.NamespacedName]*target
	// open are the doubts about all targets.
	open doubts
	// blocked are the targets that were worked on while there was a doubt.
	blocked map[*target]bool
}

// target is what is known of one target.
type target struct {
	name  types.NamespacedName
	patch *patch
	// shares are those of all parents, the oldest first once they are sorted, with gone of them that are not set any more.
	shares []*share
	sorted bool
	gone   int
	// doubts are those about this target alone.
	doubts doubts
	// change counts what changed in the contributions, and seen is the change that was seen by who worked on the target last.
	change, seen int
	// marked is true while it is among the ledger's marked ones.
	marked bool
	// problem is what came of that, and left has the problems of single parents.
	problem conditions.Problem
	left    map[types.NamespacedName]conditions.Problem
	// merged is what the shares came to together; nil where they are less than two.
	merged *patchset.Merged
	// awaited are shares of which the parents wait for the outcome, and leaving are parents that were dropped since.
	awaited []*share
	leaving []*contributor
}

func (p *patch) target(name types.NamespacedName) *target {
	t := p.targets[name]
	if t == nil {
		t = &target{name: name, patch: p}
		p.targets[name] = t
	}
	return t
}

// size is how many parents contribute.
func (t *target) size() int { return len(t.shares) - t.gone }

func (t *target) add(s *share) {
	last := len(t.shares) - 1
	t.sorted = last < 0 || t.sorted && compareShares(t.shares[last], s) < 0
	t.shares = append(t.shares, s)
}

// remove takes a share out; its place is given up when many are empty.
func (t *target) remove(s *share) {
	if s.gone = true; s.awaited {
		s.awaited = false
		s.of.by.awaited--
	}
	if t.gone++; 2*t.gone >= len(t.shares) {
		t.compact()
	}
}

func (t *target) compact() {
	t.shares = slices.DeleteFunc(t.shares, func(s *share) bool { return s.gone })
	if t.gone = 0; len(t.shares) == 0 {
		t.shares = nil
	}
}

// inOrder are the shares of all parents, the oldest first.
func (t *target) inOrder() []*share {
	if t.gone > 0 {
		t.compact()
	}
	if !t.sorted {
		slices.SortFunc(t.shares, compareShares)
		t.sorted = true
	}
	return t.shares
}

// doubt is what keeps things from being taken out of the target; nil where nothing does.
func (t *target) doubt() *doubt {
	if t.patch.open.named != nil {
		return t.patch.open.named
	}
	return t.doubts.named
}

// await has a parent wait until somebody has worked on the target.
func (t *target) await(s *share) {
	if !s.awaited {
		s.awaited = true
		s.of.by.awaited++
		t.awaited = append(t.awaited, s)
	}
}

// isCurrent tells whether somebody worked on it since the contributions changed.
func (t *target) isCurrent() bool { return t.seen >= t.change }

// isIdle tells whether nothing need be known of it any more.
func (t *target) isIdle() bool {
	return t.size() == 0 && len(t.doubts.all) == 0 && len(t.leaving) == 0 && t.isCurrent() && t.problem.IsNone() && !t.patch.blocked[t]
}
