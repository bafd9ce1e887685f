package contributions

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/patchset"
)

// Parent identifies a contributing parent.
type Parent struct {
	UID types.UID
	// Created is when the parent was created: if two contradict each other, the older one wins.
	Created time.Time
}

// Contribution is what one parent sets by one patch, as its reconcile found it.
type Contribution struct {
	Parent

	// Parts has what is set in each target.
	Parts map[types.NamespacedName]*patchset.Part
	// Doubtful are targets for which the contribution is currently unknown. Open is true if any other target may be
	// one, too.
	Doubtful map[types.NamespacedName]bool
	Open     bool
}

// isComplete reports whether the contribution is completely known.
func (c *Contribution) isComplete() bool { return !c.Open && len(c.Doubtful) == 0 }

// contributor is a parent that contributes, or that was dropped and waits for its targets.
type contributor struct {
	name types.NamespacedName
	// contributions has one entry for each patch that Set was called for.
	contributions []*contribution
	// awaited counts the shares whose result the parent waits for. leaving counts the targets that were not
	// reconciled since the parent was dropped.
	awaited, leaving int
}

func (c *contributor) to(p *patch) *contribution {
	for _, given := range c.contributions {
		if given.patch == p {
			return given
		}
	}
	return nil
}

// contribution is what a parent contributes to one patch, as far as known: unknown parts are as they were before.
type contribution struct {
	Parent

	by    *contributor
	patch *patch
	// shares are sorted by target.
	shares []*share
	// known is true once the whole contribution was known: then a target without a share gets nothing. Until then,
	// doubts has what is unknown.
	known  bool
	doubts []*doubt
}

// share is what a parent sets in one target.
type share struct {
	of     *contribution
	target *target
	part   *patchset.Part
	// gone is true once the share was removed.
	gone bool
	// awaited is true while the parent waits for the result.
	awaited bool
}

// findShare finds the share in a target. shares are sorted by target.
func findShare(shares []*share, name types.NamespacedName) (*share, bool) {
	i, found := slices.BinarySearchFunc(shares, name, func(s *share, name types.NamespacedName) int {
		return compareNames(s.target.name, name)
	})
	if !found {
		return nil, false
	}
	return shares[i], true
}

// compareShares sorts the share of the older parent first.
func compareShares(a, b *share) int {
	return cmp.Or(a.of.Created.Compare(b.of.Created), compareNames(a.of.by.name, b.of.by.name))
}

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
