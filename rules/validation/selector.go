package validation

import (
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// selector reports a selector that selects nothing, or not the Pods of its own template.
func (c *checker) selector(spec *yamltree.Node) {
	selector := spec.Get("selector")
	if selector == nil || selector.Kind != yamltree.Mapping || isOpen(selector) || hasOther(selector, "matchLabels", "matchExpressions") {
		return // package conform reports a missing selector and unknown fields
	}
	match, hasExpressions := selector.Get("matchLabels"), !lacks(selector, "matchExpressions")
	labels, all := c.podLabels(spec.Get("template"))
	switch {
	case lacks(selector, "matchLabels") || match.Kind == yamltree.Mapping && !isOpen(match) && len(match.Fields) == 0:
		if !hasExpressions {
			c.report(selector, diagnostic.CodeSelectorLabels, "spec.selector is empty, and a %s needs one that selects its Pods", c.Kind.Kind).
				WithHint("write matchLabels with labels of spec.template.metadata.labels")
		}
	case match.Kind != yamltree.Mapping:
		if all && len(labels) == 0 {
			c.report(match, diagnostic.CodeSelectorLabels, "spec.selector selects by labels, and spec.template.metadata.labels has none").
				WithHint("write the same as labels of the template")
		}
	default:
		for _, wanted := range match.Fields {
			c.selects(wanted, labels, all)
		}
	}
}

// podLabels returns the labels of a Pod template. all is true if it certainly has no others.
func (c *checker) podLabels(template *yamltree.Node) (labels map[string]*yamltree.Node, all bool) {
	if template == nil || isOpen(template) {
		return nil, false
	}
	if lacks(template, "metadata") || lacks(template.Get("metadata"), "labels") {
		return nil, true
	}
	written := at(template, "metadata", "labels")
	if written == nil || written.Kind != yamltree.Mapping {
		return nil, false
	}
	labels = map[string]*yamltree.Node{}
	for _, f := range written.Fields {
		labels[f.Name] = f.Value
	}
	return labels, !isOpen(written)
}

// selects reports a label in the selector that the Pods do not have.
func (c *checker) selects(wanted yamltree.Field, labels map[string]*yamltree.Node, all bool) {
	have, ok := labels[wanted.Name]
	want, isLiteral := literal(wanted.Value)
	switch value, haveLiteral := literal(have); {
	case !isText(wanted.Value):
	case (!ok || isNull(have)) && all:
		c.report(wanted.Key, diagnostic.CodeSelectorLabels, "spec.selector selects by %[1]s, and spec.template.metadata.labels has no %[1]s", wanted.Name).
			WithHint("give the template the same label")
	case ok && isLiteral && haveLiteral && value != want:
		c.report(wanted.Value, diagnostic.CodeSelectorLabels, "spec.selector.matchLabels.%[1]s is %[2]q, and spec.template.metadata.labels.%[1]s is %[3]q", wanted.Name, want, value).
			WithRelated(c.At(have), "the label is here").WithHint("write the same in both")
	}
}
