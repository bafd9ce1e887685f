package syntax

import (
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/yamltree"
)

// DeletionPolicy is what happens to a child that is no longer wanted.
type DeletionPolicy string

const (
	// EndDelete deletes it.
	EndDelete DeletionPolicy = "Delete"
	// EndOrphan keeps it, without an owner.
	EndOrphan DeletionPolicy = "Orphan"
)

// DeletionPolicies are the words for a DeletionPolicy.
func DeletionPolicies() []string { return language.Child().Words("deletionPolicy") }

// Deletion is deletionPolicy of a child. A part that is missing or has a mistake is nil.
type Deletion struct {
	WhenPruned, WhenDeleted *yamltree.Node
}

// deletionPolicy decodes one policy for both cases, or one for each.
func (d *decoder) deletionPolicy(n *yamltree.Node, path string) Deletion {
	if n.Kind != yamltree.Mapping {
		one := d.deletionWord(n, path)
		return Deletion{WhenPruned: one, WhenDeleted: one}
	}
	var spec Deletion
	d.object(n, path, language.Deletion(), decoders{
		"whenPruned":  func(n *yamltree.Node) { spec.WhenPruned = d.deletionWord(n, path+".whenPruned") },
		"whenDeleted": func(n *yamltree.Node) { spec.WhenDeleted = d.deletionWord(n, path+".whenDeleted") },
	})
	return spec
}

// deletionWord decodes Delete or Orphan, or an expression that gives one of them. It is nil after a finding.
func (d *decoder) deletionWord(n *yamltree.Node, path string) *yamltree.Node {
	text, ok := n.Text()
	if ok && (scanner.HasExpression(text) || slices.Contains(DeletionPolicies(), text)) {
		return n
	}
	d.report(n, diagnostic.CodeNotOneOf, "%s must be %s, or an expression that gives one of these, and is %s", path, strings.Join(DeletionPolicies(), " or "), shown(n)).
		Suggest(text, DeletionPolicies())
	return nil
}
