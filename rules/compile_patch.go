package rules

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

func patchVerbs() []string { return append(parentVerbs(), "patch") }

// patches compiles spec.patches. It adds to all whether they read the parent's status.
func (c *compiler) patches(p *program.Program, all *flow.Uses) []*program.Patch {
	out := make([]*program.Patch, len(c.rule.Patches))
	for i := range c.rule.Patches {
		spec := &c.rule.Patches[i]
		out[i] = c.patch(spec, p, all)
	}
	return out
}

func (c *compiler) patch(spec *syntax.Patch, p *program.Program, all *flow.Uses) *program.Patch {
	patch := &program.Patch{ID: spec.ID, Position: spec.Pos, Optional: spec.Optional, Refuse: spec.Refuses()}
	by := &reader{Label: spec.Label(), Guard: flow.Guard{Given: spec.When != nil, Lost: spec.Gaps["when"]}}
	c.results = map[*yamltree.Node]result{}
	sc := c.bodyScope(spec.Label(), &spec.Body)
	hasStatus := c.patchTargetKind(spec, patch, p)
	c.body(&spec.Body, &patch.Body, sc, &by.Uses, &by.Guard)
	if spec.Optional && spec.Target != nil {
		by.Guard = by.Guard.Under(optionalGuard(patch.GVK))
	}
	if spec.Target != nil {
		c.query(spec.Target, patch.Target, sc.in(".target"), &by.Uses)
	}
	if spec.Template != nil {
		c.checkPatchIdentity(spec)
		rendered := sc.in(".template")
		rendered.Rendered = true
		patch.Template, _ = c.template(spec.Template, rendered, &by.Uses)
		c.conform(spec.Template, patch.GVK, hasStatus, true)
		c.checkReadsItself(spec, patch, &by.Uses)
	}
	c.readers = append(c.readers, by)
	all.Own.Add(by.Own)
	for _, v := range sc.locals {
		all.Own.Add(v.uses.Own)
	}
	return patch
}

// patchTargetKind looks up the kind of a patch's target, and reports whether it has a status subresource.
func (c *compiler) patchTargetKind(spec *syntax.Patch, patch *program.Patch, p *program.Program) (hasStatus bool) {
	target := spec.Target
	if target == nil {
		patch.GVK = p.Parent.GVK
		c.checkPrivilege("the target of "+spec.Label(), patch.GVK, c.rule.Parent.Node)
		kind, _ := c.kindOnce(p.Parent.GVK, c.rule.Parent.Node, patchVerbs())
		return kind.HasStatus
	}
	patch.GVK, patch.Target = target.GVK, newLookup(target)
	patch.Target.Place = "target"
	kind, known := c.kind(target.GVK, target.Node, patchVerbs(), kindUse{node: "patch " + spec.ID, optional: spec.Optional})
	patch.Target.Namespaced, patch.Target.Unresolved = kind.Namespaced, c.isUnresolved(known, target.GVK)
	c.checkPrivilege("the target of "+spec.Label(), target.GVK, target.Node)
	c.confine("the target of "+spec.Label(), target.GVK, kind.Namespaced, target.Node, target.Namespace)
	if syntax.IsSecret(target.GVK) && !spec.Refuses() {
		c.Report(c.FieldAt(target.Node, "kind"), diagnostic.CodePatchSecret,
			"the values that %s replaces in a Secret are not stored, so they cannot be restored when the patch is removed", spec.Label()).
			WithHint("write conflict: Refuse, so that the patch replaces no value of others")
	}
	if known {
		c.checkNamespace(target.Node, p, kind.Namespaced, namespaceUse{
			kind: target.GVK.Kind, pos: target.Pos, needs: "the target of " + spec.Label() + " needs a namespace", hint: "leave it out",
		})
	}
	return kind.HasStatus
}

// kindOnce looks up a kind that was checked before, except for the verbs.
func (c *compiler) kindOnce(gvk schema.GroupVersionKind, n *yamltree.Node, verbs []string) (Kind, bool) {
	if c.opts.Kinds == nil || gvk.Kind == "" {
		return Kind{Namespaced: true}, false
	}
	k, ok := c.opts.Kinds.Lookup(gvk)
	c.checkVerbs(k, gvk, n, verbs, "patched")
	return k, ok
}

// checkPatchIdentity reports fields that a patch cannot set. The target identifies the object; other fields belong to
// the API server or to Kanon.
func (c *compiler) checkPatchIdentity(spec *syntax.Patch) {
	refuse := func(n *yamltree.Node, path string) {
		if n != nil {
			c.ReportNode(n, diagnostic.CodePatchIdentity, "the template of %s cannot set %s: the object exists already, and the target identifies it",
				spec.Label(), path).WithHint("leave it out")
		}
	}
	refuse(spec.Template.Get("apiVersion"), "apiVersion")
	refuse(spec.Template.Get("kind"), "kind")
	metadata := spec.Template.Get("metadata")
	if metadata == nil || metadata.Kind != yamltree.Mapping {
		return
	}
	for _, name := range []string{"name", "namespace", "generateName"} {
		refuse(metadata.Get(name), "metadata."+name)
	}
	check.ServerFields(c.Reporter, metadata)
	for _, field := range []string{"labels", "annotations"} {
		for _, f := range metadata.Get(field).Entries() {
			if syntax.IsOwnMark(f.Name) {
				c.ReportNode(f.Key, diagnostic.CodeServerField, "a template cannot set metadata.%s.%s: it is Kanon's own", field, f.Name).WithHint("leave it out")
			}
		}
	}
	check.MetadataNames(c.Reporter, metadata, spec.Kind(c.rule))
}

// checkReadsItself reports a patch that reads a field which it writes: each write would cause the next, or its own
// removal.
func (c *compiler) checkReadsItself(spec *syntax.Patch, patch *program.Patch, u *flow.Uses) {
	fields := flow.Written(spec.Template, nil)
	reported := map[diagnostic.Position]bool{}
	reads := slices.DeleteFunc(slices.Clone(u.Fields), func(r flow.FieldRead) bool { return !c.readsTarget(spec, patch, r.Root) })
	for _, r := range append(reads, c.readsOfItems(spec, patch, u.Fields)...) {
		if reported[r.Pos] {
			continue
		}
		for _, f := range fields {
			if f.IsReadBy(r) {
				reported[r.Pos] = true
				c.Report(r.Pos, diagnostic.CodePatchReadsItself, "%s reads %s, and writes %s itself", spec.Label(), r.Text, strings.Join(f.Path, ".")).
					WithRelated(c.KeyAt(spec.Template, f.Path), "the patch writes it here").WithHint("compute it from what the patch does not write")
				break
			}
		}
	}
}

// readsOfItems are the reads of list items that the patch has as targets, including those of the filter that selects
// the items.
func (c *compiler) readsOfItems(spec *syntax.Patch, patch *program.Patch, all []flow.FieldRead) (reads []flow.FieldRead) {
	for _, d := range spec.ForEach {
		l, chooses := c.lookupOf(d.In)
		if l == nil || l.spec.GVK.GroupKind() != patch.GVK.GroupKind() || !isItem(spec.Target, d.Name, l.spec) {
			continue
		}
		reads = append(reads, chooses...)
		for _, r := range all {
			if r.Root == d.Name {
				reads = append(reads, r)
			}
		}
	}
	return reads
}

// lookupOf is the lookup whose objects a forEach has, all or a filtered part, with what the filters read of each
// object. It is nil if the items come from elsewhere.
func (c *compiler) lookupOf(in *yamltree.Node) (of *lookupState, chooses []flow.FieldRead) {
	r := c.results[in]
	if r.x == nil {
		return nil, nil
	}
	at := func(id int64) diagnostic.Position { return c.Within(in, r.part, max(r.x.expr.Offset(id), 0)) }
	e := r.x.expr.Root()
	for e.Kind() == ast.ComprehensionKind {
		loop := e.AsComprehension()
		if e = check.Filtered(loop); e == nil {
			return nil, nil
		}
		for _, read := range flow.FieldReads(r.x.expr, func(name string) bool { return name == loop.IterVar() }, at) {
			if read.Root == loop.IterVar() && read.Text != loop.IterVar() { // the item as a whole is what is chosen
				chooses = append(chooses, read)
			}
		}
	}
	names := flow.PathOf(e).Names()
	if len(names) != 2 || names[0] != flow.RootLookups {
		return nil, nil
	}
	return c.lookups[names[1]], chooses
}

func isItem(target *syntax.Lookup, item string, of *syntax.Lookup) bool {
	if target == nil {
		return false
	}
	meant := func(n *yamltree.Node, field string) bool {
		text, _ := n.Text()
		return flow.SameText(text) == "${"+item+".metadata."+field+"}"
	}
	isThere := meant(target.Namespace, "namespace") || flow.ObjectTextOf(nil, target.Namespace) == flow.ObjectTextOf(nil, of.Namespace)
	return meant(target.Name, "name") && isThere
}

// readsTarget reports whether what an expression reads is the target of the patch, judging by their names as written.
func (c *compiler) readsTarget(spec *syntax.Patch, patch *program.Patch, root string) bool {
	parent := flow.ObjectText{Name: "${parent.metadata.name}"}
	target := parent
	if spec.Target != nil {
		target = flow.ObjectTextOf(spec.Target.Name, spec.Target.Namespace)
	}
	group, id, _ := strings.Cut(root, ".")
	switch group {
	case flow.RootParent:
		return patch.GVK.GroupKind() == c.rule.Parent.GVK.GroupKind() && target == parent
	case flow.RootLookups:
		l := c.lookups[id]
		return l != nil && l.spec.Name != nil && l.spec.GVK.GroupKind() == patch.GVK.GroupKind() &&
			flow.ObjectTextOf(l.spec.Name, l.spec.Namespace) == target
	}
	child := c.children[id]
	if child == nil || child.Template == nil || child.Many() {
		return false
	}
	metadata := child.Template.Get("metadata")
	return syntax.TemplateGVK(child.Template).GroupKind() == patch.GVK.GroupKind() &&
		flow.ObjectTextOf(metadata.Get("name"), metadata.Get("namespace")) == target
}
