package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kanon.dev/kanon/rules/diagnostic"
)

type yamlNode = yaml.Node

// fields says what each field of a mapping is decoded with.
type fields map[string]func(*node)

// object decodes a mapping: every field that stands there, and a finding for
// each that does not belong there and each that is missing. A field that is
// known by another name is decoded as what it was meant for, so that what is
// wrong in it comes out too.
func (d *decoder) object(n *node, path string, known fields, required ...string) gaps {
	found := gaps{}
	if n.kind != mappingNode {
		d.report(n, diagnostic.CodeFieldType, "%s must be a mapping, and is %s", orDocument(path), n.what())
		for name := range known {
			found[name] = true
		}
		return found
	}
	for _, name := range n.lost {
		found[name] = true
	}
	read := func(name string, value *node) {
		before := len(d.findings)
		known[name](value)
		if len(d.findings) > before || value.partial {
			found[name] = true
		}
	}
	meant := map[string]bool{}
	for _, f := range n.fields {
		if _, ok := known[f.name]; ok {
			read(f.name, f.value)
			continue
		}
		unknown := d.report(f.key, diagnostic.CodeUnknownField, "unknown field %q in %s", f.name, orDocument(path))
		target, hint := foreignField(path, f.name)
		if hint == "" {
			hint = misplacedField(n, path, f)
		}
		if near, ok := diagnostic.Nearest(f.name, slices.Collect(maps.Keys(known))); ok && hint == "" {
			target, hint = near, fmt.Sprintf("did you mean %q?", near)
		}
		unknown.Hint = hint
		if _, ok := known[target]; ok && !n.has(target) && !meant[target] {
			meant[target] = true
			read(target, f.value)
		}
	}
	for _, name := range required {
		if !n.has(name) && !meant[name] {
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
func misplacedField(n *node, path string, f field) string {
	switch {
	case path == "" && !n.has("spec") && slices.Contains([]string{"parent", "children", "status", "lookups", "variables"}, f.name):
		return f.name + " stands below spec"
	case strings.HasSuffix(path, "elector") && f.value.kind == scalarNode:
		return fmt.Sprintf("write matchLabels: {%s: …}", f.name)
	case strings.Contains(path, ".forEach[") && !n.has("name") && len(n.fields) == 1:
		return fmt.Sprintf("write {name: %s, in: …}", f.name)
	case strings.HasPrefix(path, "spec.lookups[") && f.name == "metadata":
		return "the name and the namespace of a lookup stand beside its kind"
	}
	return ""
}

// quotesHint is for scalars that YAML takes for something else than a string.
const quotesHint = "put quotes around it"

func quotesFor(n *node) string {
	if n.kind != scalarNode || n.value == nil {
		return ""
	}
	return quotesHint
}

// list returns the items of a list.
func (d *decoder) list(n *node, path string) []*node {
	if n.kind != sequenceNode {
		d.report(n, diagnostic.CodeFieldType, "%s must be a list, and is %s", path, n.what()).WithHint("%s", asListHint(n, path))
		return nil
	}
	return n.items
}

// asListHint says how to write as a list what is none.
func asListHint(n *node, path string) string {
	s, ok := n.text()
	switch {
	case ok && strings.HasSuffix(path, ".forEach"):
		return fmt.Sprintf("write [{name: item, in: %q}]", s)
	case ok && strings.HasSuffix(path, ".dependsOn"):
		return fmt.Sprintf("write [%s]", s)
	case n.kind == mappingNode:
		return "write - before each item"
	}
	return ""
}

// plainString is a string in a place where expressions are not evaluated.
func (d *decoder) plainString(n *node, path string) (string, bool) {
	s, ok := n.text()
	switch {
	case n.kind == scalarNode && !ok && n.value != nil:
		d.report(n, diagnostic.CodeFieldType, "%s must be a string, and is %s", path, n.what()).WithHint("%s", quotesHint)
		return "", false
	case !ok:
		d.report(n, diagnostic.CodeFieldType, "%s must be a string, and is %s", path, n.what())
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

func (d *decoder) stringMap(n *node, path string) map[string]string {
	if n.kind != mappingNode {
		d.report(n, diagnostic.CodeFieldType, "%s must be a mapping, and is %s", path, n.what())
		return nil
	}
	m := make(map[string]string, len(n.fields))
	for _, f := range n.fields {
		at := path + "." + f.name
		s, ok := f.value.text()
		switch {
		case !ok:
			d.report(f.value, diagnostic.CodeFieldType, "%s must be a string, and is %s", at, f.value.what()).WithHint("%s", quotesFor(f.value))
		case hasExpression(s) && path == "metadata.labels":
			d.report(f.value, diagnostic.CodeStrayExpression, "%s cannot hold an expression", at)
		}
		m[f.name] = s
	}
	return m
}

// expression is a string that must be one whole expression.
func (d *decoder) expression(n *node, path string) *node {
	s, ok := n.text()
	if !ok || !hasExpression(s) {
		d.report(n, diagnostic.CodeNotExpression, "%s must be an expression, such as ${…}, and is %s", path, n.what()).
			WithHint("%s", expressionHint(n))
		return nil
	}
	return n
}

// expressionHint says how to make an expression of what is none.
func expressionHint(n *node) string {
	s, ok := n.text()
	switch {
	case n.kind == sequenceNode && len(n.items) > 1:
		return "write one expression, with && between the conditions"
	case n.kind == sequenceNode:
		return "write the expression without a list"
	case ok && s != "" && len(s) <= maxShownPath:
		return fmt.Sprintf("write ${%s}", s)
	}
	return ""
}

// selector decodes a label selector. One without any requirement selects all.
func (d *decoder) selector(n *node, path string) labels.Selector {
	var spec metav1.LabelSelector
	before := len(d.findings)
	d.object(n, path, fields{
		"matchLabels": func(n *node) {
			spec.MatchLabels = d.stringMap(n, path+".matchLabels")
			d.noExpressions(n, path+".matchLabels")
		},
		"matchExpressions": func(n *node) {
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

func (d *decoder) requirement(n *node, path string) metav1.LabelSelectorRequirement {
	var r metav1.LabelSelectorRequirement
	d.object(n, path, fields{
		"key": func(n *node) { r.Key, _ = d.plainString(n, path+".key") },
		"operator": func(n *node) {
			op, _ := d.plainString(n, path+".operator")
			r.Operator = metav1.LabelSelectorOperator(op)
		},
		"values": func(n *node) {
			for i, item := range d.list(n, path+".values") {
				v, _ := d.plainString(item, fmt.Sprintf("%s.values[%d]", path, i))
				r.Values = append(r.Values, v)
			}
		},
	}, "key", "operator")
	return r
}

// noExpressions reports the expressions in a mapping of strings.
func (d *decoder) noExpressions(n *node, path string) {
	for _, f := range n.fields {
		if isExpressionText(f.value) {
			d.report(f.value, diagnostic.CodeStrayExpression, "%s.%s cannot hold an expression", path, f.name)
		}
	}
}
