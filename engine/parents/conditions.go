package parents

import (
	"hash/maphash"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/queue"
)

// Condition is the state of a parent for a rule: which of Kanon's conditions is true, and why. The zero value stands
// for a parent that the rule does not select.
type Condition struct{ Type, Reason string }

// conditionCounts has the Condition of each parent, in a few bytes each, and counts the parents with the same one.
type conditionCounts struct {
	seed maphash.Seed
	// known are the Conditions that occur: a few dozen at most. The first is the zero value.
	known  []Condition
	byRule map[string]*conditionsOfRule
}

type conditionsOfRule struct {
	// of has the index in known by the hash of a parent's name; never that of the zero value.
	of     map[uint64]uint16
	counts map[Condition]int
}

func newConditionCounts() conditionCounts {
	return conditionCounts{seed: maphash.MakeSeed(), known: []Condition{{}}, byRule: make(map[string]*conditionsOfRule)}
}

func (c *conditionCounts) set(rule string, parent types.NamespacedName, to Condition) {
	of := c.byRule[rule]
	if of == nil {
		if to == (Condition{}) {
			return
		}
		of = &conditionsOfRule{of: make(map[uint64]uint16), counts: make(map[Condition]int)}
		c.byRule[rule] = of
	}
	hash := maphash.Comparable(c.seed, parent)
	before := c.known[of.of[hash]]
	if before == to {
		return
	}
	if of.counts[before]--; of.counts[before] <= 0 {
		delete(of.counts, before)
	}
	if to == (Condition{}) {
		delete(of.of, hash)
		return
	}
	of.counts[to]++
	of.of[hash] = c.placeOf(to)
}

// placeOf returns the index of a Condition in known.
func (c *conditionCounts) placeOf(condition Condition) uint16 {
	place := slices.Index(c.known, condition)
	if place < 0 {
		place, c.known = len(c.known), append(c.known, condition)
	}
	return uint16(place) //nolint:gosec // three types and some thirty reasons
}

// SetCondition sets the Condition of a parent for a rule.
func (s *Store) SetCondition(k queue.Key, to Condition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conditionCounts.set(k.Rule, k.Parent, to)
}

// Conditions counts the parents of a rule by Condition, of those that were reconciled and that it selects.
func (s *Store) Conditions(rule string) map[Condition]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.conditionCounts.byRule[rule]; of != nil {
		return maps.Clone(of.counts)
	}
	return nil
}
