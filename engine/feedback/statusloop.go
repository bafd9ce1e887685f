package feedback

import (
	"crypto/sha256"
	"slices"

	"kanon.dev/kanon/engine/identity"
)

// MaxStatusChanges is how many evaluations in a row may change one leaf of a status if only that status itself is new.
const MaxStatusChanges = 5

// StatusLoop detects a status that a rule computes from itself, so that each write causes the next one. The zero value
// is ready.
type StatusLoop struct {
	// others is a digest of what the last evaluation saw besides children and the rule's own status. children is what
	// it saw of the children.
	others   [sha256.Size]byte
	children map[identity.ID]Version
	// changes counts, by leaf, the evaluations that changed it since anything else last changed.
	changes map[string]int
	// nothingNew is true if the newest evaluation saw nothing new.
	nothingNew bool
}

// Evaluated records what an evaluation saw. It forgets the changes so far if anything besides the status is new, or if
// the evaluation was due because of the time. A child that the last evaluation changed is new, because the rule can
// make progress by it; Chain detects whether that ends.
func (s *StatusLoop) Evaluated(in *Inputs, others [sha256.Size]byte, due bool) {
	isNew := due || others != s.others
	for id, version := range in.children {
		last, known := s.children[id]
		isNew = isNew || (version != last && (known || version != Version{}))
	}
	s.others, s.children, s.nothingNew = others, in.children, !isNew
	if isNew {
		s.changes = nil
	}
}

// Looping returns those of the changed leaves that change too often.
func (s *StatusLoop) Looping(changed []string) []string {
	if !s.nothingNew {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(changed), func(leaf string) bool { return s.changes[leaf]+1 < MaxStatusChanges })
}

// Wrote counts the leaves that a write of the status changed.
func (s *StatusLoop) Wrote(changed []string) {
	if !s.nothingNew {
		return
	}
	if s.changes == nil {
		s.changes = make(map[string]int, len(changed))
	}
	for _, leaf := range changed {
		s.changes[leaf]++
	}
}

// IsEmpty reports whether nothing was evaluated.
func (s *StatusLoop) IsEmpty() bool { return s.children == nil && s.changes == nil }
