package rules

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

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
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		return [][]string{{"spec", "volumeClaimTemplates"}}
	case schema.GroupKind{Group: check.RBACGroup, Kind: "RoleBinding"}, schema.GroupKind{Group: check.RBACGroup, Kind: "ClusterRoleBinding"}:
		return [][]string{{"roleRef"}}
	case schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Kind: "Secret"}:
		if n := template.Get("immutable"); n != nil && n.Value == true {
			return [][]string{{"data"}, {"binaryData"}, {"stringData"}}
		}
	}
	return nil
}

// fieldReads are the fields that the expressions of a rule read, also by way of variables.
type fieldReads struct {
	// fields has what the expressions of each scalar read.
	fields map[*yamltree.Node][]flow.FieldRead
	// items has what the fields of lists' items are computed from.
	items map[itemField][]flow.FieldRead
	// variables has the scalars that are only the name of a variable.
	variables map[*yamltree.Node]string
	states    []stateRead
}

// newFieldReads is nil for a rule whose reads do not matter: it has no patches and no children with immutable fields,
// and reads no observed objects.
func newFieldReads(rule *syntax.Rule) *fieldReads {
	if len(rule.Patches) == 0 && !rule.Source.Mentions(flow.RootObserved+".") && !slices.ContainsFunc(rule.Children, func(spec syntax.Child) bool {
		return len(immutableFields(syntax.TemplateGVK(spec.Template), spec.Template)) > 0
	}) {
		return nil
	}
	return &fieldReads{
		fields: map[*yamltree.Node][]flow.FieldRead{}, items: map[itemField][]flow.FieldRead{}, variables: map[*yamltree.Node]string{},
	}
}

// itemField is a field of the items of a list. list is the scalar that is the list.
type itemField struct {
	list *yamltree.Node
	name string
}

// checkImmutable reports the first read in an immutable field whose value can change, unless the child says what happens to the
// object then. It matters most for a child of spec.finalize: while the API server refuses its change, the parent is not
// deleted.
func (c *compiler) checkImmutable(spec *syntax.Child, child *program.Child) {
	gaps := spec.Gaps
	asked := spec.UpdateWhen == nil && spec.RecreateWhen == nil && !gaps["updateWhen"] && !gaps["recreateWhen"] && !gaps["updatePolicy"] && !gaps["ignore"]
	if !asked || spec.UpdatePolicy != "" && spec.UpdatePolicy != syntax.UpdateApply || !program.MayRecreate(child.GVK) {
		return
	}
	metadata := spec.Template.Get("metadata")
	named := slices.Concat(c.below(metadata.Get("name")), c.below(metadata.Get("namespace")))
	for _, read := range named {
		sources, _ := c.sources(spec, read)
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
		for _, read := range c.below(n) {
			if !c.canChange(spec, read) || c.isNamed(spec, read, named) {
				continue
			}
			f := c.Report(read.Pos, diagnostic.CodeImmutable, "%s can change, and %s of a %s is immutable", read.Text, strings.Join(path, "."), child.GVK.Kind)
			if spec.Cleanup {
				f.WithHint("write updatePolicy: CreateOnly, so that %s stays as it was created: while the API server refuses its change, the parent is not deleted", spec.Label())
				return
			}
			if program.KeepsPods(child.GVK) {
				f.WithHint("write updatePolicy: ApplyOrRecreate and recreatePropagation: Orphan, so that %s is then recreated over its Pods, or CreateOnly, so that it stays as it was created", spec.Label())
				return
			}
			f.WithHint("write updatePolicy: ApplyOrRecreate, so that %s is then deleted and recreated, or CreateOnly, so that it stays as it was created", spec.Label())
			return
		}
	}
}

// isNamed reports whether the name of the object is computed from the read, or from everything that the read is
// computed from. Then a change of the read gives the object another name.
func (c *compiler) isNamed(spec *syntax.Child, read flow.FieldRead, named []flow.FieldRead) bool {
	if slices.ContainsFunc(named, read.IsPartOf) {
		return true
	}
	sources, known := c.sources(spec, read)
	return known && !slices.ContainsFunc(sources, func(source flow.FieldRead) bool {
		return c.canChange(spec, source) && !slices.ContainsFunc(named, source.IsPartOf)
	})
}

// sources returns what a field of a forEach item is computed from. It returns false if no expression computes items
// with that field.
func (c *compiler) sources(spec *syntax.Child, read flow.FieldRead) (from []flow.FieldRead, known bool) {
	for _, f := range c.rootOf(spec).ForEach {
		if f.Name != read.Root || f.In == nil {
			continue
		}
		in := f.In
		for range maxVariables {
			name, ok := c.reads.variables[in]
			if !ok {
				break
			}
			in = c.variableValue(name)
		}
		from, known = c.reads.items[itemField{in, read.Field()}]
		return from, known
	}
	return nil, false
}

// maxVariables is how many variables that are only the name of another one are followed.
const maxVariables = 10

func (c *compiler) below(n *yamltree.Node) []flow.FieldRead {
	var out []flow.FieldRead
	for n := range n.All() {
		out = append(out, c.reads.fields[n]...)
	}
	return out
}

// canChange reports whether a read can have another value for the same parent and the same item.
func (c *compiler) canChange(spec *syntax.Child, read flow.FieldRead) bool {
	group, id, _ := strings.Cut(read.Root, ".")
	identity := read.IsOneOf("apiVersion", "kind", "metadata.name", "metadata.namespace")
	switch group {
	case flow.RootParent:
		return !identity && !read.IsBelow(c.isImmutableInParent) && !read.IsOneOf("metadata.uid", "metadata.creationTimestamp")
	case flow.RootLookups:
		l := c.lookup(id)
		return !identity || l == nil || l.IsList()
	case flow.RootChildren, flow.RootObserved, flow.RootEach:
		return !identity
	case flow.RootFinalizing:
		return false // it only changes when the parent is deleted, and the object with it
	}
	for _, f := range c.rootOf(spec).ForEach {
		if f.Name == read.Root && f.In != nil {
			return slices.ContainsFunc(c.below(f.In), func(read flow.FieldRead) bool { return c.canChange(spec, read) })
		}
	}
	return true
}

func (c *compiler) isImmutableInParent(path []string) bool {
	s := c.schemaOf(c.rule.Parent.GVK)
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
	ignored, err := syntax.ParseIgnore(text)
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

// observed.<id> is the object that the child has, whatever its name. If the name changes, for example with a version in
// the spec, it is the object with the earlier name until the new one exists. An expression then takes the status of the
// earlier object, such as a completed migration to the last version, for that of the new one.

// stateRead is a read of the status of a child's observed object.
type stateRead struct {
	flow.FieldRead
	id string
	// own is true in the child itself, which cannot read children.<id>.
	own bool
}

// noteStates records the reads of the status of observed objects in an expression. It skips objects whose metadata or
// spec the expression reads as well, even by a variable: it can check which object it is.
func (c *compiler) noteStates(reads, all []flow.FieldRead, place string) {
	for _, read := range reads {
		tells := func(other flow.FieldRead) bool { return other.Root == read.Root && other.IsOneOf("metadata", "spec") }
		if slices.ContainsFunc(all, tells) {
			continue
		}
		id := strings.TrimPrefix(read.Root, flow.RootObserved+".")
		c.reads.states = append(c.reads.states, stateRead{FieldRead: read, id: id, own: place == "children."+id || strings.HasPrefix(place, "children."+id+".")})
	}
}

// checkRenamed reports reads of the status of an observed object that may have an earlier name.
func (c *compiler) checkRenamed() {
	if c.reads == nil {
		return
	}
	for _, read := range c.reads.states {
		spec := c.children[read.id]
		if spec == nil || spec.Many() || spec.Gaps["forEach"] || spec.Template == nil {
			continue
		}
		metadata := spec.Template.Get("metadata")
		named := slices.Concat(c.below(metadata.Get("name")), c.below(metadata.Get("namespace")))
		i := slices.IndexFunc(named, func(n flow.FieldRead) bool { return c.canChange(spec, n) })
		if i < 0 {
			continue
		}
		f := c.Report(read.Pos, diagnostic.CodeFormerState, "%s may belong to an object with an earlier name, because the name of %s changes with %s", read.Text, read.id, named[i].Text)
		hint := "compare observed." + read.id + ".metadata.name with the name that is rendered"
		if !read.own {
			hint = "read children." + read.id + ", which is the object with the new name, or " + hint
		}
		f.WithRelated(named[i].Pos, "the name").Hint = hint
	}
}
