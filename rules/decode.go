package rules

import "kanon.dev/kanon/rules/syntax"

// Rule is one decoded rule.
type Rule = syntax.Rule

// Documents are those of one source.
type Documents = syntax.Documents

// Clash is a conflict between two rules that run at the same time.
type Clash = syntax.Clash

// DefinitionPlace is a place in a CustomResourceDefinition beside a rule.
type DefinitionPlace = syntax.DefinitionPlace

// IgnoredPath is the path of a field that a child leaves to others.
type IgnoredPath = syntax.IgnoredPath

// PathStep is one step of an IgnoredPath.
type PathStep = syntax.PathStep

// UpdatePolicy is how the engine updates the objects of a child.
type UpdatePolicy = syntax.UpdatePolicy

// DeletionPolicy is what happens to a child that is no longer wanted.
type DeletionPolicy = syntax.DeletionPolicy

// RuleDeletion is what happens to the children of a rule that is deleted.
type RuleDeletion = syntax.RuleDeletion

// The version and kind of a rule, the annotation that confirms a revision, and the words of
// its policies.
const (
	APIVersion = syntax.APIVersion
	RuleKind   = syntax.RuleKind

	AnnotationConfirmPrune = syntax.AnnotationConfirmPrune

	UpdateApply           = syntax.UpdateApply
	UpdateApplyOrRecreate = syntax.UpdateApplyOrRecreate
	UpdateRecreate        = syntax.UpdateRecreate
	UpdateCreateOnly      = syntax.UpdateCreateOnly

	EndDelete = syntax.EndDelete
	EndOrphan = syntax.EndOrphan

	OrphanChildren = syntax.OrphanChildren
	DeleteChildren = syntax.DeleteChildren
)

// Decode is [syntax.Decode].
func Decode(name string, data []byte) (Documents, Findings) { return syntax.Decode(name, data) }

// DecodeObject is [syntax.DecodeObject].
func DecodeObject(name string, data []byte) (Documents, Findings) {
	return syntax.DecodeObject(name, data)
}

// DecodeManifest is [syntax.DecodeManifest].
func DecodeManifest(name string, data []byte) (Documents, Findings) {
	return syntax.DecodeManifest(name, data)
}

// Clashes is [syntax.Clashes].
func Clashes(all []*Rule) [][]Clash { return syntax.Clashes(all) }

// ConfirmedRevisions is [syntax.ConfirmedRevisions].
func ConfirmedRevisions(value string) []string { return syntax.ConfirmedRevisions(value) }
