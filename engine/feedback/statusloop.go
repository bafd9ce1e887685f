package feedback

import (
	"crypto/sha256"
	"slices"

	"kanon.dev/kanon/engine/identity"
)

// MaxStatusChanges is how many evaluations in a row may change one leaf of a status with nothing new but that status itself.
const MaxStatusChanges = 5

// StatusLoop notices a status that a rule computes from itself, so that each write of it asks for the next one. The zero value
// is ready.
type StatusLoop struct {
	// others is a digest of what the last evaluation saw besides children and the rule's own status, and children what it saw
	// of the children.
	others   [sha256.Size]byte
	children map[identity.ID]Version
	// changes counts the evaluations that changed each leaf, since something else changed last.
	changes map[string]int
	// nothingNew is true where the newest evaluation saw nothing new.
	nothingNew bool
}

// Evaluated takes in what an evaluation saw, and forgets the changes so far where something is new besides the status, or the
// evaluation was due because of the time. A child that the last evaluation has changed is new: the rule goes on because of that.
// Whether it ends is for Chain to find out.
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

// Looping names those of the changed leaves that change too often.
func (s *StatusLoop) Looping(changed []string) []string {
	if !s.nothingNew {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(changed), func(leaf string) bool { return s.changes[leaf]+1 < MaxStatusChanges })
}

// Wrote counts the leaves that a write of the status has changed.
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

// IsEmpty tells whether nothing was evaluated.
func (s *StatusLoop) IsEmpty() bool { return s.children == nil && s.changes == nil }
