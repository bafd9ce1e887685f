package syntax

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/naming"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/yamltree"
)

func (d *decoder) lookups(n *yamltree.Node, r *Rule) {
	r.OpenLookups = n.Kind != yamltree.Sequence || len(n.Lost) > 0
	for i, item := range d.list(n, "spec.lookups") {
		l := d.lookup(item, i, r.Lookups)
		r.OpenLookups = r.OpenLookups || l.ID == ""
		r.Lookups = append(r.Lookups, l)
	}
}

func (d *decoder) lookup(n *yamltree.Node, index int, before []Lookup) Lookup {
	path := fmt.Sprintf("spec.lookups[%d]", index)
	l := Lookup{Index: index, Pos: d.src.At(n), Node: n}
	var apiVersion, kind string
	l.Gaps = d.object(n, path, language.Lookup(), decoders{
		"id": func(n *yamltree.Node) {
			l.Pos = d.src.At(n)
			l.ID = d.identifier(n, path+".id")
			if first := slices.IndexFunc(before, func(o Lookup) bool { return o.ID == l.ID }); l.ID != "" && first >= 0 {
				d.report(n, diagnostic.CodeNameTwice, "two lookups are called %q", l.ID).
					WithRelated(before[first].Pos, "the first one").WithHint("choose another id")
			}
		},
		"apiVersion": func(n *yamltree.Node) { apiVersion, _ = d.plainString(n, path+".apiVersion") },
		"kind":       func(n *yamltree.Node) { kind, _ = d.plainString(n, path+".kind") },
		"name":       func(n *yamltree.Node) { l.Name = d.objectText(n, path+".name", naming.IsPathSegment) },
		"namespace":  func(n *yamltree.Node) { l.Namespace = d.objectText(n, path+".namespace", isNamespace) },
		"selector":   func(n *yamltree.Node) { d.lookupSelector(n, path+".selector", &l) },
		"optional":   func(n *yamltree.Node) { l.Optional = d.boolean(n, path+".optional") },
		"when":       func(n *yamltree.Node) { l.When = d.expression(n, path+".when") },
		"forEach":    func(n *yamltree.Node) { d.items(n, path+".forEach", &l.Body) },
		"variables":  func(n *yamltree.Node) { l.Variables, l.OpenVariables = d.variables(n, path+".variables") },
	})
	l.lose(n)
	l.GVK = d.gvk(n, path, apiVersion, kind)
	d.whichForm(n, path, &l, diagnostic.CodeLookupForm,
		"give it a name for one object, or a selector for a list; selector: {} selects all",
		"leave out one: name reads one object, and selector a list")
	return l
}

// IsList reports whether a lookup has a list of objects.
func (l *Lookup) IsList() bool {
	return len(l.ForEach) > 0 || l.Gaps["forEach"] || l.Selector != nil
}

// MayBeNull reports whether the value of a lookup can be null: it is optional, and reads one object or may be skipped.
func (l *Lookup) MayBeNull() bool {
	return l.Optional && len(l.ForEach) == 0 && !l.Gaps["forEach"] && (l.Name != nil || l.When != nil)
}

// whichForm reports a lookup or a target that has neither a name nor a selector, or both. none and both are the hints.
func (d *decoder) whichForm(n *yamltree.Node, path string, l *Lookup, code diagnostic.Code, none, both string) {
	if n.Kind != yamltree.Mapping {
		return
	}
	namespace, _ := n.Get("namespace").Text()
	// A misspelt field counts: it was reported.
	named, selects := l.Name != nil || n.Has("name") || l.Gaps["name"], l.Selector != nil || n.Has("selector") || l.Gaps["selector"]
	switch {
	case !named && !selects:
		d.report(n, code, "%s has neither name nor selector", path).WithHint("%s", none)
	case named && selects:
		f := d.report(n, code, "%s has both name and selector", path)
		if name, selector := n.KeyOf("name"), n.KeyOf("selector"); name != nil && selector != nil {
			f.Position, f.Length = d.src.At(selector), 0
			f.WithRelated(d.src.At(name), "the name is here")
		}
		f.WithHint("%s", both)
	case named && namespace == AllNamespaces:
		d.report(n.Get("namespace"), code, `%s names one object, and so cannot be in "*", all namespaces`, path).
			WithHint("name its namespace, or use a selector")
	}
}

// AllNamespaces is the namespace of a lookup that reads all namespaces.
const AllNamespaces = "*"

func (d *decoder) boolean(n *yamltree.Node, path string) bool {
	v, ok := n.Value.(bool)
	if n.Kind != yamltree.Scalar || !ok {
		d.report(n, diagnostic.CodeFieldType, "%s must be true or false, and is %s", path, n.What())
	}
	return v
}

// isNamespace returns what is wrong with the namespace of a lookup.
func isNamespace(name string) []string {
	if name == AllNamespaces {
		return nil
	}
	return validation.IsDNS1123Label(name)
}

// objectText decodes a name, and checks it if it has no expression.
func (d *decoder) objectText(n *yamltree.Node, path string, check func(string) []string) *yamltree.Node {
	s, ok := n.Text()
	switch {
	case !ok:
		SuggestQuotes(d.report(n, diagnostic.CodeFieldType, "%s must be a string, and is %s", path, n.What()), n)
		return nil
	case s == "":
		d.report(n, diagnostic.CodeEmpty, "%s is empty", path)
		return nil
	case scanner.HasExpression(s):
		return n
	}
	if wrong := check(s); len(wrong) > 0 {
		d.report(n, diagnostic.CodeObjectName, "%s: %q is not a name that Kubernetes accepts", path, s)
		return nil
	}
	return n
}

// lookupSelector decodes a selector that may have expressions. Without expressions it is checked as a whole, otherwise
// field by field.
func (d *decoder) lookupSelector(n *yamltree.Node, path string, l *Lookup) {
	switch {
	case IsExpressionText(n):
		l.Selector = n
	case n.Expressions == 0:
		if l.Labels = d.selector(n, path); l.Labels != nil {
			l.Selector = n
		}
	default:
		l.Selector = n
		(&selectorDecoder{decoder: d, open: true}).fields(n, path)
	}
}
