package rules

import "kanon.dev/kanon/rules/syntax"

// OnRuleDeletion is what happens to the rule's children when it is deleted.
func (p *Program) OnRuleDeletion() syntax.RuleDeletion { return p.onRuleDeletion }

// PruneLimit is how many objects a new revision of the rule may delete without a
// confirmation.
func (p *Program) PruneLimit() int { return p.pruneLimit }
