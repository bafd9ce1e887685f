package rules

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// The API server lets nobody change some fields of an object. A template that computes one of them
// from what can change will be refused one day, unless the child says what then becomes of the
// object, or a change gives the object another name.

// immutableFields are the fields of a kind that nobody can change and that rules compute. Kinds of
// which the objects are not to be recreated, and fields for which a refusal is the best that can
// happen, such as the storage class of a volume claim, are not among them.
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
	case schema.GroupKind{Group: rbacGroup, Kind: "RoleBinding"}, schema.GroupKind{Group: rbacGroup, Kind: "ClusterRoleBinding"}:
		return [][]string{{"roleRef"}}
	case schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Kind: "Secret"}:
		if n := template.Get("immutable"); n != nil && n.Value == true {
			return [][]string{{"data"}, {"binaryData"}, {"stringData"}}
		}
	}
	return nil
}

// notesFields says whether the fields are noted that expressions read: in rules with patches, with
// children that have immutable fields, and that read observed objects.
func notesFields(r *syntax.Rule) bool {
	return len(r.Patches) > 0 || r.Source.Mentions(flow.RootObserved+".") || slices.ContainsFunc(r.Children, func(spec syntax.Child) bool {
		return len(immutableFields(syntax.TemplateGVK(spec.Template), spec.Template)) > 0
	})
}

// checkImmutable reports the first read of what can change in an immutable field, where the child
// does not say what happens to the object then. For a child of spec.finalize it matters most: while
// its change is refused, the parent is not deleted.
func (c *compiler) checkImmutable(spec *syntax.Child, child *program.Child) {
	gaps := spec.Gaps
	asked := spec.UpdateWhen == nil && spec.RecreateWhen == nil && !gaps["updateWhen"] && !gaps["recreateWhen"] && !gaps["updatePolicy"] && !gaps["ignore"]
	if !asked || spec.UpdatePolicy != "" && spec.UpdatePolicy != syntax.UpdateApply || !program.MayRecreate(child.GVK) {
		return
	}
	metadata := spec.Template.Get("metadata")
	named := slices.Concat(c.readsBelow(metadata.Get("name")), c.readsBelow(metadata.Get("namespace")))
	for _, path := range immutableFields(child.GVK, spec.Template) {
		n := spec.Template
		for _, name := range path {
			n = n.Get(name)
		}
		if n == nil || slices.ContainsFunc(spec.Ignore, func(i syntax.Ignore) bool { return touches(i, path) }) {
			continue
		}
		for _, r := range c.readsBelow(n) {
			if !c.canChange(spec, r) || slices.ContainsFunc(named, r.IsPartOf) {
				continue
			}
			f := c.Report(r.Pos, diagnostic.CodeImmutable, "%s can change, and %s of a %s is immutable", r.Text, strings.Join(path, "."), child.GVK.Kind)
			if spec.Cleanup {
				f.WithHint("write updatePolicy: CreateOnly, so that %s stays as it was created: while the API server refuses its change, the parent is not deleted", spec.Label())
				return
			}
			f.WithHint("write updatePolicy: ApplyOrRecreate, so that %s is then deleted and recreated, or CreateOnly, so that it stays as it was created", spec.Label())
			return
		}
	}
}

// readsBelow are the fields that the expressions in a part of the rule read.
func (c *compiler) readsBelow(n *yamltree.Node) []flow.FieldRead {
	if n == nil {
		return nil
	}
	out := slices.Clone(c.fieldReads[n])
	for _, f := range n.Fields {
		out = slices.Concat(out, c.fieldReads[f.Key], c.readsBelow(f.Value))
	}
	for _, item := range n.Items {
		out = append(out, c.readsBelow(item)...)
	}
	return out
}

// canChange says whether what is read can be another value for the same parent and the same item.
func (c *compiler) canChange(spec *syntax.Child, r flow.FieldRead) bool {
	group, id, _ := strings.Cut(r.Root, ".")
	identity := r.IsOneOf("apiVersion", "kind", "metadata.name", "metadata.namespace")
	switch group {
	case flow.RootParent:
		return !identity && !r.IsBelow(c.isImmutableInParent) && !r.IsOneOf("metadata.uid", "metadata.creationTimestamp")
	case flow.RootLookups:
		l := c.lookups[id]
		return !identity || l == nil || l.spec.IsList()
	case flow.RootChildren, flow.RootObserved, flow.RootEach:
		return !identity
	case flow.RootFinalizing:
		return false // the object goes with its parent
	}
	if f := c.families[spec.ID]; f != nil {
		spec = f.root
	}
	for _, f := range spec.ForEach {
		if f.Name == r.Root && f.In != nil {
			return slices.ContainsFunc(c.readsBelow(f.In), func(r flow.FieldRead) bool { return c.canChange(spec, r) })
		}
	}
	return true
}

// isImmutableInParent says whether the definition of the parent's kind lets nobody change a field.
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

// touches says whether an item of ignore is about a field, what holds it or a part of it.
func touches(i syntax.Ignore, path []string) bool {
	text, _ := i.Path.Text()
	ignored, err := syntax.ParsePath(text)
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
