package syntax

import (
	"strings"

	"kanon.dev/kanon/rules/yamltree"
)

// RuleDeletion is what happens to the children of a rule that is deleted.
type RuleDeletion string

const (
	// OrphanChildren keeps them.
	OrphanChildren RuleDeletion = "Orphan"
	// DeleteChildren deletes them.
	DeleteChildren RuleDeletion = "Delete"
)

// AnnotationConfirmPrune is an annotation of a rule, or of the ConfigMap that contains it. It allows a revision of the
// rule to delete more than PruneLimit objects. Its value is the Hash of that revision, or several separated by commas.
// The hash does not include the annotation.
const AnnotationConfirmPrune = "kanon.dev/confirm-prune"

// AnnotationConfirmDefinition is an annotation of a rule, or of the ConfigMap that contains it. It allows a change of
// the kind's CustomResourceDefinition by which objects lose something. Its value names the change, or several separated
// by commas.
const AnnotationConfirmDefinition = "kanon.dev/confirm-definition"

// AnnotationVerbosity is an annotation of a rule, or of the ConfigMap that contains it. It raises the verbosity of the
// rule's log; package engine/request reads it. It is not part of a revision.
const AnnotationVerbosity = "kanon.dev/verbosity"

// defaultPruneLimit is more children than most rules have, and fewer than their parents.
const defaultPruneLimit = 10

// Confirmed lists the revisions that the document confirms.
func (r *Rule) Confirmed() []string { return ConfirmedRevisions(r.Annotations[AnnotationConfirmPrune]) }

// ConfirmedDefinitions lists the changes of the kind's definition that the document confirms.
func (r *Rule) ConfirmedDefinitions() []string {
	return ConfirmedRevisions(r.Annotations[AnnotationConfirmDefinition])
}

// ConfirmedRevisions lists what a value of AnnotationConfirmPrune or AnnotationConfirmDefinition names.
func ConfirmedRevisions(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

// revision is the hash of a document without the annotations that do not change what the rule does.
func revision(n *yamltree.Node) string {
	metadata := n.Get("metadata")
	annotations := metadata.Get("annotations")
	left := annotations
	for _, name := range []string{AnnotationConfirmPrune, AnnotationConfirmDefinition, AnnotationVerbosity} {
		if left != nil && left.Has(name) {
			left = left.Without(name)
		}
	}
	switch {
	case left == annotations:
		return n.Hash()
	case len(left.Fields) == 0:
		return n.With("metadata", metadata.Without("annotations")).Hash()
	default:
		return n.With("metadata", metadata.With("annotations", left)).Hash()
	}
}
