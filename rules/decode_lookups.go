package rules

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

func (d *decoder) lookups(n *yamltree.Node, r *Rule) {
	r.openLookups = n.Kind != yamltree.Sequence || len(n.Lost) > 0
	for i, item := range d.list(n, "spec.lookups") {
		l := d.lookup(item, i, r.lookups)
		r.openLookups = r.openLookups || l.id == ""
		r.lookups = append(r.lookups, l)
	}
}

func (d *decoder) lookup(n *yamltree.Node, index int, before []lookupSpec) lookupSpec {
	path := fmt.Sprintf("spec.lookups[%d]", index)
	l := lookupSpec{index: index, pos: d.src.At(n), node: n}
	var apiVersion, kind string
	l.gaps = d.object(n, path, fields{
		"id": func(n *yamltree.Node) {
			l.pos = d.src.At(n)
			l.id = d.identifier(n, path+".id")
			if l.id != "" && slices.ContainsFunc(before, func(o lookupSpec) bool { return o.id == l.id }) {
				d.report(n, diagnostic.CodeNameTwice, "two lookups are called %q", l.id).WithHint("choose another id")
			}
		},
		"apiVersion": func(n *yamltree.Node) { apiVersion, _ = d.plainString(n, path+".apiVersion") },
		"kind":       func(n *yamltree.Node) { kind, _ = d.plainString(n, path+".kind") },
		"name":       func(n *yamltree.Node) { l.name = d.objectText(n, path+".name", isPathSegment) },
		"namespace":  func(n *yamltree.Node) { l.namespace = d.objectText(n, path+".namespace", isNamespace) },
		"selector":   func(n *yamltree.Node) { d.lookupSelector(n, path+".selector", &l) },
		"optional":   func(n *yamltree.Node) { l.optional = d.boolean(n, path+".optional") },
		"when":       func(n *yamltree.Node) { l.when = d.expression(n, path+".when") },
		"forEach":    func(n *yamltree.Node) { d.items(n, path+".forEach", &l.bodySpec) },
		"variables":  func(n *yamltree.Node) { l.variables, l.openVariables = d.variables(n, path+".variables") },
	}, "id", "apiVersion", "kind")
	l.lose(n)
	l.gvk = d.gvk(n, path, apiVersion, kind)
	d.whichForm(n, path, &l, diagnostic.CodeLookupForm,
		"give it a name for one object, or a selector for a list; selector: {} selects all",
		"leave out one: name reads one object, and selector a list")
	return l
}

// list says whether a lookup gives a list.
func (l *lookupSpec) list() bool {
	return len(l.forEach) > 0 || l.gaps["forEach"] || l.selector != nil
}

// mayBeNull says whether a lookup can be null: one that is optional, and has one
// object or is skipped.
func (l *lookupSpec) mayBeNull() bool {
	return l.optional && len(l.forEach) == 0 && !l.gaps["forEach"] && (l.name != nil || l.when != nil)
}

// whichForm reports a place that does not say, or says twice, which objects it means.
// none and both are what to do about it.
func (d *decoder) whichForm(n *yamltree.Node, path string, l *lookupSpec, code diagnostic.Code, none, both string) {
	if n.Kind != yamltree.Mapping {
		return
	}
	namespace, _ := n.Get("namespace").Text()
	// A field that stands there by a name that is nearly right was reported.
	named, selects := l.name != nil || n.Has("name") || l.gaps["name"], l.selector != nil || n.Has("selector") || l.gaps["selector"]
	switch {
	case !named && !selects:
		d.report(n, code, "%s has neither name nor selector", path).WithHint("%s", none)
	case named && selects:
		d.report(n, code, "%s has both name and selector", path).WithHint("%s", both)
	case named && namespace == allNamespaces:
		d.report(n.Get("namespace"), code, `%s names one object, and so cannot be in "*", all namespaces`, path).
			WithHint("name its namespace, or use a selector")
	}
}

// allNamespaces is how a lookup says that it reads those of all namespaces.
const allNamespaces = "*"

func (d *decoder) boolean(n *yamltree.Node, path string) bool {
	v, ok := n.Value.(bool)
	if n.Kind != yamltree.Scalar || !ok {
		d.report(n, diagnostic.CodeFieldType, "%s must be true or false, and is %s", path, n.What())
	}
	return v
}

// isPathSegment says what is wrong with the name of an object of any kind.
func isPathSegment(name string) []string { return content.IsPathSegmentName(name) }

// isNamespace says what is wrong with the namespace of a lookup.
func isNamespace(name string) []string {
	if name == allNamespaces {
		return nil
	}
	return validation.IsDNS1123Label(name)
}

// objectText is a string that may hold expressions; without any it is checked.
func (d *decoder) objectText(n *yamltree.Node, path string, check func(string) []string) *yamltree.Node {
	s, ok := n.Text()
	switch {
	case !ok:
		d.report(n, diagnostic.CodeFieldType, "%s must be a string, and is %s", path, n.What()).WithHint("%s", quotesFor(n))
		return nil
	case s == "":
		d.report(n, diagnostic.CodeEmpty, "%s is empty", path)
		return nil
	case hasExpression(s):
		return n
	}
	if wrong := check(s); len(wrong) > 0 {
		d.report(n, diagnostic.CodeObjectName, "%s: %q is not a name that Kubernetes takes", path, s)
		return nil
	}
	return n
}

// lookupSelector decodes a selector that may hold expressions. One without any
// is checked whole, and of others the fields that are written out.
func (d *decoder) lookupSelector(n *yamltree.Node, path string, l *lookupSpec) {
	switch {
	case isExpressionText(n):
		l.selector = n
	case n.Expressions == 0:
		if l.labels = d.selector(n, path); l.labels != nil {
			l.selector = n
		}
	default:
		l.selector = n
		d.object(n, path, fields{
			"matchLabels": func(n *yamltree.Node) { d.openMapping(n, path+".matchLabels") },
			"matchExpressions": func(n *yamltree.Node) {
				if isExpressionText(n) {
					return
				}
				for i, item := range d.list(n, path+".matchExpressions") {
					d.openRequirement(item, fmt.Sprintf("%s.matchExpressions[%d]", path, i))
				}
			},
		})
	}
}

// openMapping is a mapping of strings, or an expression that gives one.
func (d *decoder) openMapping(n *yamltree.Node, path string) {
	if isExpressionText(n) {
		return
	}
	if n.Kind != yamltree.Mapping {
		d.report(n, diagnostic.CodeFieldType, "%s must be a mapping, and is %s", path, n.What())
		return
	}
	for _, f := range n.Fields {
		d.openText(f.Value, path+"."+f.Name)
	}
}

// openText is a string, with expressions or without.
func (d *decoder) openText(n *yamltree.Node, path string) {
	if _, ok := n.Text(); !ok {
		d.report(n, diagnostic.CodeFieldType, "%s must be a string, and is %s", path, n.What()).WithHint("%s", quotesFor(n))
	}
}

func (d *decoder) openRequirement(n *yamltree.Node, path string) {
	if isExpressionText(n) {
		return
	}
	d.object(n, path, fields{
		"key": func(n *yamltree.Node) { d.openText(n, path+".key") },
		"operator": func(n *yamltree.Node) {
			d.openText(n, path+".operator")
			if s, ok := n.Text(); ok && !hasExpression(s) && !isSelectorOperator(s) {
				d.report(n, diagnostic.CodeSelector, "%s.operator: %q is not an operator of a selector", path, s).
					WithHint("%s", diagnostic.DidYouMean(s, selectorOperators()))
			}
		},
		"values": func(n *yamltree.Node) {
			if isExpressionText(n) {
				return
			}
			for i, item := range d.list(n, path+".values") {
				d.openText(item, fmt.Sprintf("%s.values[%d]", path, i))
			}
		},
	}, "key", "operator")
}

func selectorOperators() []string {
	return []string{
		string(metav1.LabelSelectorOpIn), string(metav1.LabelSelectorOpNotIn),
		string(metav1.LabelSelectorOpExists), string(metav1.LabelSelectorOpDoesNotExist),
	}
}

func isSelectorOperator(s string) bool { return slices.Contains(selectorOperators(), s) }
