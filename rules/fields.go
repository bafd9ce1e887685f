package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// fields says what each field of a mapping is decoded with.
type fields map[string]func(*yamltree.Node)

// object decodes a mapping: every field that stands there, and a finding for
// each that does not belong there and each that is missing. A field that is
// known by another name is decoded as what it was meant for, so that what is
// wrong in it comes out too.
func (d *decoder) object(n *yamltree.Node, path string, known fields, required ...string) gaps {
	found := gaps{}
	if n.Kind != yamltree.Mapping {
		d.report(n, diagnostic.CodeFieldType, "%s must be a mapping, and is %s", orDocument(path), n.What())
		for name := range known {
			found[name] = true
		}
		return found
	}
	for _, name := range n.Lost {
		found[name] = true
	}
	read := func(name string, value *yamltree.Node) {
		before := len(d.findings)
		known[name](value)
		if len(d.findings) > before || value.Partial {
			found[name] = true
		}
	}
	meant := map[string]bool{}
	for _, f := range n.Fields {
		if _, ok := known[f.Name]; ok {
			read(f.Name, f.Value)
			continue
		}
		unknown := d.report(f.Key, diagnostic.CodeUnknownField, "unknown field %q in %s", f.Name, orDocument(path))
		target, hint := foreignField(path, f.Name)
		if hint == "" {
			hint = misplacedField(n, path, f)
		}
		if near, ok := diagnostic.Nearest(f.Name, slices.Collect(maps.Keys(known))); ok && hint == "" {
			target, hint = near, fmt.Sprintf("did you mean %q?", near)
		}
		unknown.Hint = hint
		if _, ok := known[target]; ok && !n.Has(target) && !meant[target] {
			meant[target] = true
			read(target, f.Value)
		}
	}
	for _, name := range required {
		if !n.Has(name) && !meant[name] {
			d.report(n, diagnostic.CodeMissingField, "%s is missing %s", orDocument(path), name)
			found[name] = true
		}
	}
	return found
}

func orDocument(path string) string {
	if path == "" {
		return "the document"
	}
	return path
}

// foreignField explains the words that other engines use: the field that is
// meant, where there is one, and what to say.
func foreignField(path, name string) (target, hint string) {
	switch name {
	case "resources":
		return "children", "the objects that a rule makes stand in spec.children"
	case "schema":
		return "", "spec.parent names the kind, and a CustomResourceDefinition can stand beside the rule as a document of its own"
	case "sameAs":
		return "", "write forEach: {sameAs: …}, with the id of the child whose items it has"
	case "includeWhen":
		return "when", "write when"
	case "externalRef":
		return "", "an object that the rule only reads stands in spec.lookups, and is read as lookups.<id>"
	case "parentResource":
		return "", "write parent, with the apiVersion and kind of the objects that the rule is for"
	case "childResources", "attachments", "composedTemplates":
		return "", "the objects that a rule makes stand in spec.children"
	case "hooks":
		return "", "there are none: expressions in spec.children and spec.status say what the objects are"
	case "patches", "fromFieldPath", "readinessChecks":
		if path != "spec" {
			return "", "the template reads the parent with expressions, such as ${parent.spec.x}, and readyWhen says when the object is ready"
		}
	case "labelSelector":
		return "selector", "write selector"
	case "resource", "object", "manifest", "base":
		if path != "" && path != "spec" {
			return "template", "write template"
		}
	}
	return "", ""
}

// misplacedField says where a field belongs that stands one level too far out or
// in.
func misplacedField(n *yamltree.Node, path string, f yamltree.Field) string {
	switch {
	case path == "" && !n.Has("spec") && slices.Contains([]string{"parent", "children", "status", "lookups", "variables"}, f.Name):
		return f.Name + " stands below spec"
	case strings.HasSuffix(path, "elector") && f.Value.Kind == yamltree.Scalar:
		return fmt.Sprintf("write matchLabels: {%s: …}", f.Name)
	case strings.Contains(path, ".forEach[") && !n.Has("name") && len(n.Fields) == 1:
		return fmt.Sprintf("write {name: %s, in: …}", f.Name)
	case strings.HasPrefix(path, "spec.lookups[") && f.Name == "metadata":
		return "the name and the namespace of a lookup stand beside its kind"
	}
	return ""
}

// quotesHint is for scalars that YAML takes for something else than a string.
const quotesHint = "put quotes around it"

func quotesFor(n *yamltree.Node) string {
	if n.Kind != yamltree.Scalar || n.Value == nil {
		return ""
	}
	return quotesHint
}

// list returns the items of a list.
func (d *decoder) list(n *yamltree.Node, path string) []*yamltree.Node {
	if n.Kind != yamltree.Sequence {
		d.report(n, diagnostic.CodeFieldType, "%s must be a list, and is %s", path, n.What()).WithHint("%s", asListHint(n, path))
		return nil
	}
	return n.Items
}

// asListHint says how to write as a list what is none.
func asListHint(n *yamltree.Node, path string) string {
	s, ok := n.Text()
	switch {
	case ok && strings.HasSuffix(path, ".forEach"):
		return fmt.Sprintf("write [{name: item, in: %q}]", s)
	case ok && strings.HasSuffix(path, ".dependsOn"):
		return fmt.Sprintf("write [%s]", s)
	case n.Kind == yamltree.Mapping:
		return "write - before each item"
	}
	return ""
}

// plainString is a string in a place where expressions are not evaluated.
func (d *decoder) plainString(n *yamltree.Node, path string) (string, bool) {
	s, ok := n.Text()
	switch {
	case n.Kind == yamltree.Scalar && !ok && n.Value != nil:
		d.report(n, diagnostic.CodeFieldType, "%s must be a string, and is %s", path, n.What()).WithHint("%s", quotesHint)
		return "", false
	case !ok:
		d.report(n, diagnostic.CodeFieldType, "%s must be a string, and is %s", path, n.What())
		return "", false
	case hasExpression(s):
		d.report(n, diagnostic.CodeStrayExpression, "%s cannot hold an expression", path).
			WithHint("write it out: it is read before there is a parent")
		return "", false
	case s == "":
		d.report(n, diagnostic.CodeEmpty, "%s is empty", path)
		return "", false
	}
	return s, true
}

func (d *decoder) stringMap(n *yamltree.Node, path string) map[string]string {
	if n.Kind != yamltree.Mapping {
		d.report(n, diagnostic.CodeFieldType, "%s must be a mapping, and is %s", path, n.What())
		return nil
	}
	m := make(map[string]string, len(n.Fields))
	for _, f := range n.Fields {
		at := path + "." + f.Name
		s, ok := f.Value.Text()
		switch {
		case !ok:
			d.report(f.Value, diagnostic.CodeFieldType, "%s must be a string, and is %s", at, f.Value.What()).WithHint("%s", quotesFor(f.Value))
		case hasExpression(s) && path == "metadata.labels":
			d.report(f.Value, diagnostic.CodeStrayExpression, "%s cannot hold an expression", at)
		}
		m[f.Name] = s
	}
	return m
}

// expression is a string that must be one whole expression.
func (d *decoder) expression(n *yamltree.Node, path string) *yamltree.Node {
	s, ok := n.Text()
	if !ok || !hasExpression(s) {
		d.report(n, diagnostic.CodeNotExpression, "%s must be an expression, such as ${…}, and is %s", path, n.What()).
			WithHint("%s", expressionHint(n))
		return nil
	}
	return n
}

// expressionHint says how to make an expression of what is none.
func expressionHint(n *yamltree.Node) string {
	s, ok := n.Text()
	switch {
	case n.Kind == yamltree.Sequence && len(n.Items) > 1:
		return "write one expression, with && between the conditions"
	case n.Kind == yamltree.Sequence:
		return "write the expression without a list"
	case ok && s != "" && len(s) <= maxShownPath:
		return fmt.Sprintf("write ${%s}", s)
	}
	return ""
}

// selector decodes a label selector. One without any requirement selects all.
func (d *decoder) selector(n *yamltree.Node, path string) labels.Selector {
	var spec metav1.LabelSelector
	before := len(d.findings)
	d.object(n, path, fields{
		"matchLabels": func(n *yamltree.Node) {
			spec.MatchLabels = d.stringMap(n, path+".matchLabels")
			d.noExpressions(n, path+".matchLabels")
		},
		"matchExpressions": func(n *yamltree.Node) {
			for i, item := range d.list(n, path+".matchExpressions") {
				spec.MatchExpressions = append(spec.MatchExpressions, d.requirement(item, fmt.Sprintf("%s.matchExpressions[%d]", path, i)))
			}
		},
	})
	if len(d.findings) > before {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(&spec)
	if err != nil {
		d.report(n, diagnostic.CodeSelector, "%s: %s", path, err.Error())
		return nil
	}
	return selector
}

func (d *decoder) requirement(n *yamltree.Node, path string) metav1.LabelSelectorRequirement {
	var r metav1.LabelSelectorRequirement
	d.object(n, path, fields{
		"key": func(n *yamltree.Node) { r.Key, _ = d.plainString(n, path+".key") },
		"operator": func(n *yamltree.Node) {
			op, _ := d.plainString(n, path+".operator")
			r.Operator = metav1.LabelSelectorOperator(op)
		},
		"values": func(n *yamltree.Node) {
			for i, item := range d.list(n, path+".values") {
				v, _ := d.plainString(item, fmt.Sprintf("%s.values[%d]", path, i))
				r.Values = append(r.Values, v)
			}
		},
	}, "key", "operator")
	return r
}

// noExpressions reports the expressions in a mapping of strings.
func (d *decoder) noExpressions(n *yamltree.Node, path string) {
	for _, f := range n.Fields {
		if isExpressionText(f.Value) {
			d.report(f.Value, diagnostic.CodeStrayExpression, "%s.%s cannot hold an expression", path, f.Name)
		}
	}
}
