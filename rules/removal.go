package rules

import (
	"math"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
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

// OnRuleDeletion is that of the program, also where the rule does not compile.
func (r *Rule) OnRuleDeletion() RuleDeletion { return r.onRuleDeletion }

func (d *decoder) onRuleDeletion(n *yamltree.Node) RuleDeletion {
	const path = "spec.onRuleDeletion"
	known := []string{string(OrphanChildren), string(DeleteChildren)}
	text, ok := d.plainString(n, path)
	if ok && !slices.Contains(known, text) {
		d.report(n, diagnostic.CodeNotOneOf, "%s must be %s, and is %q", path, strings.Join(known, " or "), text).
			WithHint("%s", diagnostic.DidYouMean(text, known))
	}
	return RuleDeletion(text)
}

// AnnotationConfirmPrune is the annotation that, on a rule's document or on what holds it, lets a revision of
// the rule delete more than PruneLimit objects. Its value is the revision's Hash, of
// which the annotation is no part; several stand with commas between them.
const AnnotationConfirmPrune = "kanon.dev/confirm-prune"

// defaultPruneLimit is how many objects a new revision may delete that says nothing
// of it: more than a rule has nodes, as a rule, and fewer than it has parents.
const defaultPruneLimit = 10

// PruneLimit is how many objects a new revision of the rule may delete without being
// confirmed.
func (p *Program) PruneLimit() int { return p.pruneLimit }

// Confirmed lists the revisions that the document confirms.
func (r *Rule) Confirmed() []string { return ConfirmedRevisions(r.Annotations[AnnotationConfirmPrune]) }

// ConfirmedRevisions lists the revisions that a value of AnnotationConfirmPrune names.
func ConfirmedRevisions(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

func (d *decoder) pruneLimit(n *yamltree.Node) int {
	limit, ok := n.Value.(int64)
	if !ok || limit < 0 {
		d.report(n, diagnostic.CodeFieldType, "spec.pruneLimit must be a whole number from 0 on, and is %s", shown(n))
		return 0
	}
	return int(min(limit, math.MaxInt32))
}

// revision names what a document says: all of it but what only confirms it.
func revision(n *yamltree.Node) string {
	metadata := n.Get("metadata")
	annotations := metadata.Get("annotations")
	if annotations == nil || !annotations.Has(AnnotationConfirmPrune) {
		return n.Hash()
	}
	left := annotations.Without(AnnotationConfirmPrune)
	if len(left.Fields) == 0 {
		return n.With("metadata", metadata.Without("annotations")).Hash()
	}
	return n.With("metadata", metadata.With("annotations", left)).Hash()
}
