package immutable

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/identity"
	"kanon.dev/kanon/rules/ignore"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/reporting"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Some fields of an object are immutable. If a template computes such a field from values that can change, the API
// server will refuse a change one day, unless the child says what happens to the object then, or the change also gives
// the object another name.

// immutableFields returns the immutable fields of a kind that rules compute. It omits kinds whose objects must not be
// recreated, and fields for which a refusal is the best outcome, such as the storage class of a volume claim.
func immutableFields(gvk schema.GroupVersionKind, template *yamltree.Node) [][]string {
	switch gvk.GroupKind() {
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return [][]string{
			{"spec", "template"},
			{"spec", "selector"},
			{"spec", "completionMode"},
			{"spec", "podFailurePolicy"},
			{"spec", "successPolicy"},
			{"spec", "backoffLimitPerIndex"},
			{"spec", "managedBy"},
		}
	case schema.GroupKind{Group: identity.RBACGroup, Kind: "RoleBinding"}, schema.GroupKind{Group: identity.RBACGroup, Kind: "ClusterRoleBinding"}:
		return [][]string{{"roleRef"}}
	case schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Kind: "Secret"}:
		if n := template.Get("immutable"); n != nil && n.Value == true {
			return [][]string{{"data"}, {"binaryData"}, {"stringData"}}
		}
	}
	return nil
}

// Reads collects the fields that the expressions of a rule read, also by way of variables.
type Reads struct {
	*reporting.Reporter
	Children map[string]*syntax.Child
	// Lookup returns a lookup of the rule; nil if there is none with that id.
	Lookup func(id string) *flow.Lookup
	// ItemsOf returns the child whose forEach has the items of a child: itself, or another one under sameAs.
	ItemsOf func(spec *syntax.Child) *syntax.Child
	// Variable returns the value of a variable of the rule; nil if there is none of that name.
	Variable func(name string) *yamltree.Node
	// ParentSchema returns the schema of the parent's kind; nil if it is not known.
	ParentSchema func() *openapi.Schema

	// fields has what the expressions of each scalar read.
	fields map[*yamltree.Node][]flow.FieldRead
	// items has, for a scalar that is a list, what each field of the list's items is computed from.
	items map[*yamltree.Node]map[string][]flow.FieldRead
	// variables has the scalars that are only the name of a variable.
	variables map[*yamltree.Node]string
	states    []stateRead
}

// Note records what an expression of a scalar reads.
func (r *Reads) Note(n *yamltree.Node, fields []flow.FieldRead) {
	if r.fields == nil {
		r.fields = map[*yamltree.Node][]flow.FieldRead{}
	}
	r.fields[n] = append(r.fields[n], fields...)
}

// NoteItemField records what a field of a list's items is computed from. n is the scalar that is the list.
func (r *Reads) NoteItemField(n *yamltree.Node, field string, from []flow.FieldRead) {
	if r.items == nil {
		r.items = map[*yamltree.Node]map[string][]flow.FieldRead{}
	}
	if r.items[n] == nil {
		r.items[n] = map[string][]flow.FieldRead{}
	}
	r.items[n][field] = from
}

// NoteVariable records that a scalar is only the name of a variable.
func (r *Reads) NoteVariable(n *yamltree.Node, name string) {
	if r.variables == nil {
		r.variables = map[*yamltree.Node]string{}
	}
	r.variables[n] = name
}

// Matters reports whether the reads of a rule need to be recorded: it has patches, children with immutable fields, or
// reads observed objects.
func Matters(rule *syntax.Rule) bool {
	return len(rule.Patches) > 0 || rule.Source.Mentions(flow.RootObserved+".") || slices.ContainsFunc(rule.Children, func(spec syntax.Child) bool {
		return len(immutableFields(syntax.TemplateGVK(spec.Template), spec.Template)) > 0
	})
}

// Check reports the first read in an immutable field whose value can change, unless the child says what happens to the
// object then. It matters most for a child of spec.finalize: while the API server refuses its change, the parent is not
// deleted.
func (r *Reads) Check(spec *syntax.Child, child *program.Child) {
	gaps := spec.Gaps
	asked := spec.UpdateWhen == nil && spec.RecreateWhen == nil && !gaps["updateWhen"] && !gaps["recreateWhen"] && !gaps["updatePolicy"] && !gaps["ignore"]
	if !asked || spec.UpdatePolicy != "" && spec.UpdatePolicy != syntax.UpdateApply || !program.MayRecreate(child.GVK) {
		return
	}
	metadata := spec.Template.Get("metadata")
	named := slices.Concat(r.below(metadata.Get("name")), r.below(metadata.Get("namespace")))
	for _, read := range named {
		sources, _ := r.sources(spec, read)
		named = append(named, sources...)
	}
	for _, path := range immutableFields(child.GVK, spec.Template) {
		n := spec.Template
		for _, name := range path {
			n = n.Get(name)
		}
		if n == nil || slices.ContainsFunc(spec.Ignore, func(i syntax.Ignore) bool { return touches(i, path) }) {
			continue
		}
		for _, read := range r.below(n) {
			if !r.canChange(spec, read) || r.isNamed(spec, read, named) {
				continue
			}
			f := r.Report(read.Pos, diagnostic.CodeImmutable, "%s can change, and %s of a %s is immutable", read.Text, strings.Join(path, "."), child.GVK.Kind)
			if spec.Cleanup {
				f.WithHint("write updatePolicy: CreateOnly, so that %s stays as it was created: while the API server refuses its change, the parent is not deleted", spec.Label())
				return
			}
			f.WithHint("write updatePolicy: ApplyOrRecreate, so that %s is then deleted and recreated, or CreateOnly, so that it stays as it was created", spec.Label())
			return
		}
	}
}

// isNamed reports whether the name of the object is computed from the read, or from everything that the read is
// computed from. Then a change of the read gives the object another name.
func (r *Reads) isNamed(spec *syntax.Child, read flow.FieldRead, named []flow.FieldRead) bool {
	if slices.ContainsFunc(named, read.IsPartOf) {
		return true
	}
	sources, known := r.sources(spec, read)
	return known && !slices.ContainsFunc(sources, func(source flow.FieldRead) bool {
		return r.canChange(spec, source) && !slices.ContainsFunc(named, source.IsPartOf)
	})
}

// sources returns what a field of a forEach item is computed from. It returns false if no expression computes items
// with that field.
func (r *Reads) sources(spec *syntax.Child, read flow.FieldRead) (from []flow.FieldRead, known bool) {
	for _, f := range r.ItemsOf(spec).ForEach {
		if f.Name != read.Root || f.In == nil {
			continue
		}
		in := f.In
		for range maxVariables {
			name, ok := r.variables[in]
			if !ok {
				break
			}
			in = r.Variable(name)
		}
		from, known = r.items[in][read.Field()]
		return from, known
	}
	return nil, false
}

// maxVariables is how many variables that are only the name of another one are followed.
const maxVariables = 10

// below returns the fields that the expressions in a part of the rule read.
func (r *Reads) below(n *yamltree.Node) []flow.FieldRead {
	var out []flow.FieldRead
	for n := range n.All() {
		out = append(out, r.fields[n]...)
	}
	return out
}

// canChange reports whether a read can have another value for the same parent and the same item.
func (r *Reads) canChange(spec *syntax.Child, read flow.FieldRead) bool {
	group, id, _ := strings.Cut(read.Root, ".")
	identity := read.IsOneOf("apiVersion", "kind", "metadata.name", "metadata.namespace")
	switch group {
	case flow.RootParent:
		return !identity && !read.IsBelow(r.isImmutableInParent) && !read.IsOneOf("metadata.uid", "metadata.creationTimestamp")
	case flow.RootLookups:
		l := r.Lookup(id)
		return !identity || l == nil || l.IsList()
	case flow.RootChildren, flow.RootObserved, flow.RootEach:
		return !identity
	case flow.RootFinalizing:
		return false // it only changes when the parent is deleted, and the object with it
	}
	for _, f := range r.ItemsOf(spec).ForEach {
		if f.Name == read.Root && f.In != nil {
			return slices.ContainsFunc(r.below(f.In), func(read flow.FieldRead) bool { return r.canChange(spec, read) })
		}
	}
	return true
}

// isImmutableInParent reports whether the definition of the parent's kind makes a field immutable.
func (r *Reads) isImmutableInParent(path []string) bool {
	s := r.ParentSchema()
	immutable := false
	for _, name := range path {
		if s == nil || s.Fields[name] == nil {
			return false
		}
		immutable, s = s.Fields[name].Immutable, s.Fields[name].Schema
	}
	return immutable
}

// touches reports whether an item of ignore is about a field, a field above it or a part of it.
func touches(i syntax.Ignore, path []string) bool {
	text, _ := i.Path.Text()
	ignored, err := ignore.Parse(text)
	if err != nil {
		return true
	}
	for at := range min(len(path), len(ignored.Steps)) {
		if ignored.Steps[at].Field != path[at] {
			return false
		}
	}
	return true
}
