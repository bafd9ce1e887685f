package rules

import (
	"math"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
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

func (d *decoder) onRuleDeletion(n *node) RuleDeletion {
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

func (d *decoder) pruneLimit(n *node) int {
	limit, ok := n.value.(int64)
	if !ok || limit < 0 {
		d.report(n, diagnostic.CodeFieldType, "spec.pruneLimit must be a whole number from 0 on, and is %s", shown(n))
		return 0
	}
	return int(min(limit, math.MaxInt32))
}

// revision names what a document says: all of it but what only confirms it.
func (n *node) revision() string {
	metadata := n.get("metadata")
	annotations := metadata.get("annotations")
	if annotations == nil || !annotations.has(AnnotationConfirmPrune) {
		return n.contentHash()
	}
	left := annotations.without(AnnotationConfirmPrune)
	if len(left.fields) == 0 {
		return n.with("metadata", metadata.without("annotations")).contentHash()
	}
	return n.with("metadata", metadata.with("annotations", left)).contentHash()
}

// without is a copy of a mapping that lacks a field.
func (n *node) without(name string) *node {
	left := *n
	left.fields = slices.DeleteFunc(slices.Clone(n.fields), func(f field) bool { return f.name == name })
	return &left
}

// with is a copy of a mapping in which a field has another value.
func (n *node) with(name string, value *node) *node {
	out := *n
	out.fields = slices.Clone(n.fields)
	for i := range out.fields {
		if out.fields[i].name == name {
			out.fields[i].value = value
		}
	}
	return &out
}
