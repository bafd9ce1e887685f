package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// patchSpec is one item of spec.patches.
type patchSpec struct {
	bodySpec
	id    string
	pos   diagnostic.Position // of the id
	index int
	// target says which objects are patched; nil: the parent.
	target *lookupSpec
	refuse bool
	// template is nil where it is missing or no mapping.
	template *yamltree.Node
}

// label names a patch in messages, by its id where it has one.
func (p *patchSpec) label() string {
	if p.id == "" {
		return fmt.Sprintf("spec.patches[%d]", p.index)
	}
	return "patches." + p.id
}

func (d *decoder) patches(n *yamltree.Node, r *Rule) {
	for i, item := range d.list(n, "spec.patches") {
		r.patches = append(r.patches, d.patch(item, i, r.patches))
	}
}

func (d *decoder) patch(n *yamltree.Node, index int, before []patchSpec) patchSpec {
	path := fmt.Sprintf("spec.patches[%d]", index)
	p := patchSpec{index: index, pos: d.src.At(n)}
	p.gaps = d.object(n, path, fields{
		"id": func(n *yamltree.Node) {
			p.pos = d.src.At(n)
			p.id = d.patchID(n, path+".id")
			if p.id != "" && slices.ContainsFunc(before, func(o patchSpec) bool { return o.id == p.id }) {
				d.report(n, diagnostic.CodeNameTwice, "two patches are called %q", p.id).WithHint("choose another id")
			}
		},
		"when":      func(n *yamltree.Node) { p.when = d.expression(n, path+".when") },
		"forEach":   func(n *yamltree.Node) { d.items(n, path+".forEach", &p.bodySpec) },
		"variables": func(n *yamltree.Node) { p.variables, p.openVariables = d.variables(n, path+".variables") },
		"target":    func(n *yamltree.Node) { p.target = d.target(n, path+".target") },
		"conflict": func(n *yamltree.Node) {
			text, ok := d.plainString(n, path+".conflict")
			if ok && !slices.Contains(conflictPolicies(), text) {
				d.report(n, diagnostic.CodeNotOneOf, "%s.conflict must be %s, and is %q", path, strings.Join(conflictPolicies(), " or "), text).
					WithHint("%s", diagnostic.DidYouMean(text, conflictPolicies()))
			}
			p.refuse = text == conflictRefuse
		},
		"template": func(n *yamltree.Node) {
			if n.Kind != yamltree.Mapping {
				d.report(n, diagnostic.CodeFieldType, "%s.template must be a mapping, and is %s", path, n.What())
				return
			}
			if len(n.Fields) == 0 && !n.Partial {
				d.report(n, diagnostic.CodeEmpty, "%s.template is empty", path)
			}
			p.template = n
		},
	}, "id", "template")
	p.lose(n)
	return p
}

// What a patch does with a field that another manager has with another value.
const (
	conflictOverride = "Override"
	conflictRefuse   = "Refuse"
)

func conflictPolicies() []string { return []string{conflictOverride, conflictRefuse} }

// patchID is the id of a patch. No expression uses it, but a field manager is named
// after it.
func (d *decoder) patchID(n *yamltree.Node, path string) string {
	s, ok := d.plainString(n, path)
	if !ok {
		return ""
	}
	if strings.Contains(s, ".") || len(validation.IsValidLabelValue(s)) > 0 {
		d.report(n, diagnostic.CodePatchID, "%s: %q cannot be the id of a patch: it is made of letters, digits, - and _, at most 63, with a letter or digit at both ends", path, s)
		return ""
	}
	return s
}

// target decodes which objects a patch is for.
func (d *decoder) target(n *yamltree.Node, path string) *lookupSpec {
	t := &lookupSpec{pos: d.src.At(n), node: n}
	var apiVersion, kind string
	t.gaps = d.object(n, path, fields{
		"apiVersion": func(n *yamltree.Node) { apiVersion, _ = d.plainString(n, path+".apiVersion") },
		"kind":       func(n *yamltree.Node) { kind, _ = d.plainString(n, path+".kind") },
		"name":       func(n *yamltree.Node) { t.name = d.objectText(n, path+".name", isPathSegment) },
		"namespace":  func(n *yamltree.Node) { t.namespace = d.objectText(n, path+".namespace", isNamespace) },
		"selector":   func(n *yamltree.Node) { d.lookupSelector(n, path+".selector", t) },
	}, "apiVersion", "kind")
	t.gvk = d.gvk(n, path, apiVersion, kind)
	d.whichForm(n, path, t, diagnostic.CodePatchTarget,
		"give it a name for one object, or a selector for several; selector: {} selects all, and without a target the patch is for the parent",
		"leave out one: name is for one object, and selector for several")
	return t
}
