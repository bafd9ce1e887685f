package syntax

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/yamltree"
)

// selector decodes a label selector without expressions. An empty one matches everything. It is nil after a finding.
func (d *decoder) selector(n *yamltree.Node, path string) labels.Selector {
	before := len(d.findings)
	(&selectorDecoder{decoder: d}).fields(n, path)
	if len(d.findings) > before {
		return nil
	}
	plain, _ := n.Plain().(map[string]any)
	var spec metav1.LabelSelector
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(plain, &spec)
	var selector labels.Selector
	if err == nil {
		selector, err = metav1.LabelSelectorAsSelector(&spec)
	}
	if err != nil {
		d.report(n, diagnostic.CodeSelector, "%s: %s", path, err.Error())
		return nil
	}
	return selector
}

// selectorDecoder checks the fields of a label selector. With open, they may contain expressions, and be expressions.
type selectorDecoder struct {
	*decoder
	open bool
}

// given reports whether an expression gives the whole value of a node.
func (d *selectorDecoder) given(n *yamltree.Node) bool { return d.open && IsExpressionText(n) }

func (d *selectorDecoder) fields(n *yamltree.Node, path string) {
	d.object(n, path, language.Selector(), decoders{
		"matchLabels": func(n *yamltree.Node) {
			if n.Kind != yamltree.Mapping && !d.given(n) {
				d.report(n, diagnostic.CodeFieldType, "%s.matchLabels must be a mapping, and is %s", path, n.What())
				return
			}
			for _, f := range n.Fields {
				d.text(f.Value, path+".matchLabels."+f.Name)
			}
		},
		"matchExpressions": func(n *yamltree.Node) { d.each(n, path+".matchExpressions", d.requirement) },
	})
}

func (d *selectorDecoder) requirement(n *yamltree.Node, path string) {
	if d.given(n) {
		return
	}
	d.object(n, path, language.Requirement(), decoders{
		"key": func(n *yamltree.Node) { d.text(n, path+".key") },
		"operator": func(n *yamltree.Node) {
			d.text(n, path+".operator")
			operators := language.Requirement().Words("operator")
			if s, ok := n.Text(); ok && !scanner.HasExpression(s) && !slices.Contains(operators, s) {
				d.report(n, diagnostic.CodeSelector, "%s.operator: %q is not an operator of a selector", path, s).Suggest(s, operators)
			}
		},
		"values": func(n *yamltree.Node) { d.each(n, path+".values", d.text) },
	})
}

// each checks the items of a list.
func (d *selectorDecoder) each(n *yamltree.Node, path string, check func(n *yamltree.Node, path string)) {
	if d.given(n) {
		return
	}
	for i, item := range d.list(n, path) {
		check(item, fmt.Sprintf("%s[%d]", path, i))
	}
}

// text checks a string.
func (d *selectorDecoder) text(n *yamltree.Node, path string) {
	s, ok := n.Text()
	switch {
	case !ok:
		SuggestQuotes(d.report(n, diagnostic.CodeFieldType, "%s must be a string, and is %s", path, n.What()), n)
	case !d.open && scanner.HasExpression(s):
		d.report(n, diagnostic.CodeStrayExpression, "%s cannot contain an expression", path).
			WithHint("write it out: it is read before there is a parent")
	}
}
