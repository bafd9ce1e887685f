package rules

import (
	"slices"
	"strings"
)

// RuleDeletion says what becomes of the children of a rule that is removed.
type RuleDeletion string

const (
	// OrphanChildren means that they stay.
	OrphanChildren RuleDeletion = "Orphan"
	// DeleteChildren means that they are deleted.
	DeleteChildren RuleDeletion = "Delete"
)

// OnRuleDeletion says what becomes of the rule's children when it is removed.
func (p *Program) OnRuleDeletion() RuleDeletion { return p.onRuleDeletion }

func (d *decoder) onRuleDeletion(n *node) RuleDeletion {
	const path = "spec.onRuleDeletion"
	known := []string{string(OrphanChildren), string(DeleteChildren)}
	text, ok := d.plainString(n, path)
	if ok && !slices.Contains(known, text) {
		d.report(n, CodeNotOneOf, "%s must be %s, and is %q", path, strings.Join(known, " or "), text).
			hint("%s", didYouMean(text, known))
	}
	return RuleDeletion(text)
}
