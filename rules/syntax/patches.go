package syntax

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/naming"
	"kanon.dev/kanon/rules/secrets"
	"kanon.dev/kanon/rules/yamltree"
)

// Patch is one item of spec.patches.
type Patch struct {
	Body
	ID    string
	Pos   diagnostic.Position // of the id
	index int
	// Target selects the objects that are patched; nil for the parent.
	Target   *Lookup
	Optional bool
	Refuse   bool
	// Template is nil if it is missing or not a mapping.
	Template *yamltree.Node
}

// Label names a patch in messages, by its id if it has one.
func (p *Patch) Label() string {
	if p.ID == "" {
		return fmt.Sprintf("spec.patches[%d]", p.index)
	}
	return "patches." + p.ID
}

// Kind is the kind of the patched objects.
func (p *Patch) Kind(r *Rule) schema.GroupKind {
	if p.Target == nil {
		return r.Parent.GVK.GroupKind()
	}
	return p.Target.GVK.GroupKind()
}

func (d *decoder) patches(n *yamltree.Node, r *Rule) {
	for i, item := range d.list(n, "spec.patches") {
		r.Patches = append(r.Patches, d.patch(item, i, r.Patches))
	}
}

func (d *decoder) patch(n *yamltree.Node, index int, before []Patch) Patch {
	path := fmt.Sprintf("spec.patches[%d]", index)
	p := Patch{index: index, Pos: d.src.At(n)}
	p.Gaps = d.object(n, path, language.Patch(), decoders{
		"id": func(n *yamltree.Node) {
			p.Pos = d.src.At(n)
			p.ID = d.patchID(n, path+".id")
			if first := slices.IndexFunc(before, func(o Patch) bool { return o.ID == p.ID }); p.ID != "" && first >= 0 {
				d.report(n, diagnostic.CodeNameTwice, "two patches are called %q", p.ID).
					WithRelated(before[first].Pos, "the first one").WithHint("choose another id")
			}
		},
		"optional":  func(n *yamltree.Node) { p.Optional = d.boolean(n, path+".optional") },
		"when":      func(n *yamltree.Node) { p.When = d.expression(n, path+".when") },
		"forEach":   func(n *yamltree.Node) { d.items(n, path+".forEach", &p.Body) },
		"variables": func(n *yamltree.Node) { p.Variables, p.OpenVariables = d.variables(n, path+".variables") },
		"target":    func(n *yamltree.Node) { p.Target = d.target(n, path+".target") },
		"conflict": func(n *yamltree.Node) {
			p.Refuse = d.word(n, path+".conflict", language.Patch().Words("conflict")) == conflictRefuse
		},
		"template": func(n *yamltree.Node) {
			if p.Template = d.template(n, path+".template"); p.Template != nil && len(n.Fields) == 0 && !n.Partial {
				d.report(n, diagnostic.CodeEmpty, "%s.template is empty", path)
			}
		},
	})
	if p.Target != nil && IsSecret(p.Target.GVK) {
		secrets.HideValues(d.src, p.Template)
	}
	p.lose(n)
	return p
}

// conflictRefuse makes a patch leave a field alone if another manager has another value for it. The default is to take
// it.
const conflictRefuse = "Refuse"

// patchID decodes the id of a patch. No expression uses it, but the name of a field manager contains it.
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

// target decodes the target of a patch.
func (d *decoder) target(n *yamltree.Node, path string) *Lookup {
	t := &Lookup{Pos: d.src.At(n), Node: n}
	var apiVersion, kind string
	t.Gaps = d.object(n, path, language.Target(), decoders{
		"apiVersion": func(n *yamltree.Node) { apiVersion, _ = d.plainString(n, path+".apiVersion") },
		"kind":       func(n *yamltree.Node) { kind, _ = d.plainString(n, path+".kind") },
		"name":       func(n *yamltree.Node) { t.Name = d.objectText(n, path+".name", naming.IsPathSegment) },
		"namespace":  func(n *yamltree.Node) { t.Namespace = d.objectText(n, path+".namespace", isNamespace) },
		"selector":   func(n *yamltree.Node) { d.lookupSelector(n, path+".selector", t) },
	})
	t.GVK = d.gvk(n, path, apiVersion, kind)
	d.whichForm(n, path, t, diagnostic.CodePatchTarget,
		"give it a name for one object, or a selector for several; selector: {} selects all, and without a target the patch is for the parent",
		"leave out one: name is for one object, and selector for several")
	return t
}

// IsOwnMark reports whether Kanon itself sets a label or an annotation to recognise its objects. Those that people set,
// such as kanon.dev/suspend, can be patched.
func IsOwnMark(name string) bool {
	return slices.Contains([]string{
		"kanon.dev/rule", "kanon.dev/parent-uid", "kanon.dev/node", "kanon.dev/owner", "kanon.dev/applied", "kanon.dev/taken", "kanon.dev/joined", "kanon.dev/retained-by",
	}, name)
}

// ServerFields are the fields of metadata that a template cannot set.
func ServerFields() []string {
	return []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields", "ownerReferences"}
}
