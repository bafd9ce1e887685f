package contributions

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/patchset"
)

// Parent is who contributes.
type Parent struct {
	UID types.UID
	// Created is when the parent was: of two that contradict, the older is heard.
	Created time.Time
}

// Contribution is what one parent sets by one patch, as its pass found it.
type Contribution struct {
	Parent

	// Parts has what is set in each target.
	Parts map[types.NamespacedName]*patchset.Part
	// Doubtful are targets of which what is set is not known now, and Open is true where there may be any others.
	Doubtful map[types.NamespacedName]bool
	Open     bool
}

// isComplete tells whether all is known now.
func (c *Contribution) isComplete() bool { return !c.Open && len(c.Doubtful) == 0 }

// contributor is a parent that contributes, or that did and waits for the release.
type contributor struct {
	name types.NamespacedName
	// contributions has one for each patch that the parent was asked for.
	contributions []*contribution
	// awaited counts the shares of which the parent waits for the outcome, and leaving the targets that nobody has worked on
	// since the parent was dropped.
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

// contribution is what a parent contributes to one patch as far as it is known: what is unknown now is as it was before.
type contribution struct {
	Parent

	by    *contributor
	patch *patch
	// shares are sorted by their targets.
	shares []*share
	// known is true once all was known: what has no share is not contributed. Until then, doubts says what is not.
	known  bool
	doubts []*doubt
}

// share is what a parent sets in one target.
type share struct {
	of     *contribution
	target *target
	part   *patchset.Part
	// gone is true once it is not set any more.
	gone bool
	// awaited is true while the parent waits for the outcome.
	awaited bool
}

// findShare finds the share in a target among those that are sorted by it.
func findShare(shares []*share, name types.NamespacedName) (*share, bool) {
	i, found := slices.BinarySearchFunc(shares, name, func(s *share, name types.NamespacedName) int {
		return compareNames(s.target.name, name)
	})
	if !found {
		return nil, false
	}
	return shares[i], true
}

// compareShares puts that of the older parent first.
func compareShares(a, b *share) int {
	return cmp.Or(a.of.Created.Compare(b.of.Created), compareNames(a.of.by.name, b.of.by.name))
}

func compareNames(a, b types.NamespacedName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
