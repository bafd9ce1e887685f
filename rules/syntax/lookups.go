package syntax

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

type kindName struct {
	APIVersion string `rule:"apiVersion"`
	KindName   string `rule:"kind"`
}

// gvk joins an apiVersion and a kind. It is empty if one of them is missing or wrong, which is reported.
func (k kindName) gvk(d *decoder, n *yamltree.Node, path string) schema.GroupVersionKind {
	gv, err := schema.ParseGroupVersion(k.APIVersion)
	if err != nil || k.APIVersion != "" && gv.Version == "" {
		at := n.Get("apiVersion")
		if at == nil {
			at = n // the field has another name by mistake
		}
		d.report(at, diagnostic.CodeGroupVersion, "%s.apiVersion must be VERSION or GROUP/VERSION, not %q", path, k.APIVersion)
	}
	if err == nil && gv.Group == "" && strings.Contains(gv.Version, ".") {
		d.report(n.Get("apiVersion"), diagnostic.CodeGroupVersion, "%s.apiVersion has no version: %s is a group", path, gv.Version).
			WithHint("write %s/v1, or the version that the kind has", gv.Version)
		return schema.GroupVersionKind{}
	}
	if err != nil || gv.Version == "" || k.KindName == "" {
		return schema.GroupVersionKind{}
	}
	return gv.WithKind(k.KindName)
}

// Lookup is one item of spec.lookups, or the target of a patch.
type Lookup struct {
	Body
	kindName
	ID       string              `rule:"id,identifier"`
	Pos      diagnostic.Position `rule:"id"`
	Index    int
	GVK      schema.GroupVersionKind
	Optional bool `rule:"optional"`
	// Node is the whole lookup.
	Node *yamltree.Node `rule:""`
	// Labels is the selector if it has no expression.
	Labels labels.Selector `rule:"selector"`
	// Name, Namespace and Selector are nil if they are missing or could not be read.
	Name      *yamltree.Node `rule:"name,objectName"`
	Namespace *yamltree.Node `rule:"namespace,namespace"`
	Selector  *yamltree.Node `rule:"selector"`
}

// AllNamespaces is the namespace of a lookup that reads all namespaces.
const AllNamespaces = "*"

func (l *Lookup) complete(d *decoder, n *yamltree.Node, path string) {
	l.Body.complete(d, n)
	l.GVK = l.gvk(d, n, path)
	if n.Kind != yamltree.Mapping {
		return
	}
	code, none, both := diagnostic.CodeLookupForm,
		"give it a name for one object, or a selector for a list; selector: {} selects all",
		"leave out one: name reads one object, and selector a list"
	if strings.HasSuffix(path, ".target") {
		code, none, both = diagnostic.CodePatchTarget,
			"give it a name for one object, or a selector for several; selector: {} selects all, and without a target the patch is for the parent",
			"leave out one: name is for one object, and selector for several"
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

// IsList reports whether a lookup has a list of objects.
func (l *Lookup) IsList() bool {
	return len(l.ForEach) > 0 || l.Gaps["forEach"] || l.Selector != nil
}

// MayBeNull reports whether the value of a lookup can be null: it is optional, and reads one object or may be skipped.
func (l *Lookup) MayBeNull() bool {
	return l.Optional && len(l.ForEach) == 0 && !l.Gaps["forEach"] && (l.Name != nil || l.When != nil)
}

// Label names a lookup in messages and paths.
func (l *Lookup) Label() string {
	if l.ID == "" {
		return fmt.Sprintf("spec.lookups[%d]", l.Index)
	}
	return "lookups." + l.ID
}

// Patch is one item of spec.patches.
type Patch struct {
	Body
	ID    string              `rule:"id,patchID"`
	Pos   diagnostic.Position `rule:"id"`
	Index int
	// Target selects the objects that are patched; nil for the parent.
	Target   *Lookup `rule:"target"`
	Optional bool    `rule:"optional"`
	Conflict string  `rule:"conflict"`
	// Template is nil if it is missing or not a mapping.
	Template *yamltree.Node `rule:"template"`
}

func (p *Patch) complete(d *decoder, n *yamltree.Node, path string) {
	p.Body.complete(d, n)
	if p.Template != nil && len(p.Template.Fields) == 0 && !p.Template.Partial {
		d.report(p.Template, diagnostic.CodeEmpty, "%s.template is empty", path)
	}
	if p.Target != nil && IsSecret(p.Target.GVK) {
		hideValues(d.src, p.Template)
	}
}

// Refuses reports whether the patch leaves a field alone if another manager has another value for it. The default is to
// take it.
func (p *Patch) Refuses() bool { return p.Conflict == "Refuse" }

// Label names a patch in messages, by its id if it has one.
func (p *Patch) Label() string {
	if p.ID == "" {
		return fmt.Sprintf("spec.patches[%d]", p.Index)
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

// IsOwnMark reports whether Kanon itself sets a label or an annotation to recognise its objects. Those that people set,
// such as kanon.dev/suspend, can be patched.
func IsOwnMark(name string) bool {
	return slices.Contains([]string{
		"kanon.dev/rule", "kanon.dev/parent-uid", "kanon.dev/owner", "kanon.dev/applied", "kanon.dev/taken", "kanon.dev/joined", "kanon.dev/retained-by",
	}, name)
}

// ServerFields are the fields of metadata that a template cannot set.
func ServerFields() []string {
	return []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields", "ownerReferences"}
}
