package contributions

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/patchset"
	"kanon.dev/kanon/engine/conditions"
)

// patch is the account of one patch.
type patch struct {
	id string
	// kind is the kind of the targets.
	kind    schema.GroupVersionKind
	targets map[types.NamespacedName]*target
	// open are the doubts about all targets.
	open doubts
	// blocked are the targets that were reconciled while there was a doubt.
	blocked map[*target]bool
}

// target is the account of one target.
type target struct {
	name  types.NamespacedName
	patch *patch
	// shares are those of all parents, oldest parent first if sorted is true. gone counts the removed ones among
	// them.
	shares []*share
	sorted bool
	gone   int
	// doubts are those about this target alone.
	doubts doubts
	// change counts the changes of the contributions; seen is the change that the last reconcile saw.
	change, seen int
	// marked is true while the target is in ledger.marked.
	marked bool
	// problem is the result of the last reconcile, and left has the problems of single parents.
	problem conditions.Problem
	left    map[types.NamespacedName]conditions.Problem
	// merged is the result of merging the shares; nil if there are fewer than two.
	merged *patchset.Merged
	// awaited are the shares whose parents wait for the result; leaving are the parents that were dropped since the
	// last reconcile.
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

// size is the number of parents that contribute.
func (t *target) size() int { return len(t.shares) - t.gone }

func (t *target) add(s *share) {
	last := len(t.shares) - 1
	t.sorted = last < 0 || t.sorted && compareShares(t.shares[last], s) < 0
	t.shares = append(t.shares, s)
}

// remove removes a share. Its slot is freed once half of the slots are empty.
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

// inOrder returns the shares of all parents, oldest parent first.
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

// doubt returns the doubt that keeps anything from being removed from the target; nil if there is none.
func (t *target) doubt() *doubt {
	if t.patch.open.named != nil {
		return t.patch.open.named
	}
	return t.doubts.named
}

// await has a parent wait until the target was reconciled.
func (t *target) await(s *share) {
	if !s.awaited {
		s.awaited = true
		s.of.by.awaited++
		t.awaited = append(t.awaited, s)
	}
}

// isCurrent reports whether the target was reconciled since the contributions changed.
func (t *target) isCurrent() bool { return t.seen >= t.change }

// isIdle reports whether the target has no state left.
func (t *target) isIdle() bool {
	return t.size() == 0 && len(t.doubts.all) == 0 && len(t.leaving) == 0 && t.isCurrent() && t.problem.IsNone() && !t.patch.blocked[t]
}
