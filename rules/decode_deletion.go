package rules

import (
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// deletionSpec is a child's deletionPolicy. Each part is nil where it was left out or
// could not be read.
type deletionSpec struct {
	whenPruned, whenDeleted *yamltree.Node
}

// deletionPolicy reads one policy for both cases, or one for each.
func (d *decoder) deletionPolicy(n *yamltree.Node, path string) deletionSpec {
	if n.Kind != yamltree.Mapping {
		one := d.deletionWord(n, path)
		return deletionSpec{whenPruned: one, whenDeleted: one}
	}
	var spec deletionSpec
	d.object(n, path, fields{
		"whenPruned":  func(n *yamltree.Node) { spec.whenPruned = d.deletionWord(n, path+".whenPruned") },
		"whenDeleted": func(n *yamltree.Node) { spec.whenDeleted = d.deletionWord(n, path+".whenDeleted") },
	})
	return spec
}

// deletionWord is Delete or Orphan, or an expression that gives one of them; nil after
// a finding.
func (d *decoder) deletionWord(n *yamltree.Node, path string) *yamltree.Node {
	text, ok := n.Text()
	if ok && (hasExpression(text) || slices.Contains(deletionPolicies(), text)) {
		return n
	}
	d.report(n, diagnostic.CodeNotOneOf, "%s must be %s, or an expression that gives one of these, and is %s", path, strings.Join(deletionPolicies(), " or "), shown(n)).
		WithHint("%s", diagnostic.DidYouMean(text, deletionPolicies()))
	return nil
}
