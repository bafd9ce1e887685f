package rules

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// compiledPatch is a node of spec.patches.
type compiledPatch struct {
	Patch
	body
	// target finds the objects as a lookup does; nil: the parent.
	target   *compiledLookup
	template template
}

// patchVerbs are what the engine does with the objects that a patch is for.
func patchVerbs() []string { return append(parentVerbs(), "patch") }

// patches compiles spec.patches. all is what the nodes of the rule read.
func (c *compiler) patches(p *Program, all *flow.Uses) []*compiledPatch {
	out := make([]*compiledPatch, len(c.rule.Patches))
	for i := range c.rule.Patches {
		spec := &c.rule.Patches[i]
		out[i] = c.patch(spec, p, all)
	}
	return out
}

func (c *compiler) patch(spec *syntax.Patch, p *Program, all *flow.Uses) *compiledPatch {
	patch := &compiledPatch{Patch: Patch{ID: spec.ID, Position: spec.Pos, Conditional: spec.When != nil, Refuse: spec.Refuse}}
	by := &reader{label: spec.Label(), guard: flow.Guard{Given: spec.When != nil, Lost: spec.Gaps["when"]}}
	c.results = map[*yamltree.Node]result{}
	sc := &compileScope{
		place: spec.Label(), allowChildren: true, asked: c.asked, openNames: spec.OpenNames, openVariables: spec.OpenVariables,
		names: map[string]*origin{}, locals: map[string]*compiledVariable{},
	}
	c.patchTargetKind(spec, patch, p)
	patch.forEach = c.dimensions(spec.ForEach, sc, &by.Uses)
	c.locals(&spec.Body, &patch.body, sc)
	c.when(&spec.Body, &patch.body, sc, &by.Uses, &by.guard)
	for _, name := range slices.Sorted(maps.Keys(patch.locals)) {
		c.compileVariable(patch.locals[name], sc)
	}
	c.patchTarget(spec, patch, sc, &by.Uses)
	if spec.Template != nil {
		c.checkPatchIdentity(spec)
		rendered := *sc
		rendered.place, rendered.rendered = sc.place+".template", true
		patch.template, _ = c.template(spec.Template, &rendered, &by.Uses)
		c.conform(spec.Template, patch.GVK, patch.kind.HasStatus, true)
		c.checkReadsItself(spec, patch, &by.Uses)
	}
	c.readers = append(c.readers, by)
	all.OwnStatus = all.OwnStatus || by.OwnStatus
	for _, v := range patch.locals {
		all.OwnStatus = all.OwnStatus || v.uses.OwnStatus
	}
	return patch
}

// patchTargetKind looks up the kind that a patch is for.
func (c *compiler) patchTargetKind(spec *syntax.Patch, patch *compiledPatch, p *Program) {
	target := spec.Target
	if target == nil {
		patch.GVK, patch.Namespaced, patch.Parent = p.parent.GVK, p.parent.Namespaced, true
		patch.kind, _ = c.kindOnce(p.parent.GVK, c.rule.Parent.Node, patchVerbs())
		return
	}
	patch.GVK = target.GVK
	kind, known := c.kind(target.GVK, target.Node, patchVerbs(), kindUse{node: "patch " + spec.ID})
	patch.kind, patch.Namespaced, patch.Unresolved = kind, kind.Namespaced, c.isUnresolved(known, target.GVK)
	if syntax.IsSecret(target.GVK) && !spec.Refuse {
		c.report(c.fieldAt(target.Node, "kind"), diagnostic.CodePatchSecret,
			"the values that %s replaces in a Secret are not stored, so they cannot be restored when the patch is removed", spec.Label()).
			WithHint("write conflict: Refuse, so that the patch replaces no value of others")
	}
	if !known {
		return
	}
	namespace := target.Node.Get("namespace")
	switch {
	case namespace != nil && !kind.Namespaced:
		c.report(c.rule.Source.At(namespace), diagnostic.CodeNamespaceForbid, "%s is cluster-scoped and cannot have a namespace", target.GVK.Kind).
			WithHint("leave it out")
	case !target.Node.Has("namespace") && kind.Namespaced && !p.parent.Namespaced:
		c.report(target.Pos, diagnostic.CodeNamespaceRequired, "the target of %s needs a namespace, because %s, the parent's kind, is cluster-scoped",
			spec.Label(), p.parent.GVK.Kind)
	}
}

// kindOnce is kind for one of which all but the verbs was looked at before.
func (c *compiler) kindOnce(gvk schema.GroupVersionKind, n *yamltree.Node, verbs []string) (Kind, bool) {
	if c.opts.Kinds == nil || gvk.Kind == "" {
		return Kind{Namespaced: true}, false
	}
	k, ok := c.opts.Kinds.Lookup(gvk)
	c.checkVerbs(k, gvk, n, verbs, "patched")
	return k, ok
}

// patchTarget compiles what finds the objects that a patch is for.
func (c *compiler) patchTarget(spec *syntax.Patch, patch *compiledPatch, sc *compileScope, u *flow.Uses) {
	target := spec.Target
	if target == nil {
		return
	}
	out := &compiledLookup{
		Lookup: Lookup{GVK: target.GVK, Namespaced: patch.Namespaced, Selector: target.Labels},
		fixed:  target.Labels, where: "target",
	}
	inner := *sc
	inner.place = sc.place + ".target"
	out.name = c.lookupText(target.Name, "name", &inner, u)
	if s, _ := target.Namespace.Text(); s == syntax.AllNamespaces {
		out.all = true
	} else {
		out.namespace = c.lookupText(target.Namespace, "namespace", &inner, u)
		if t, ok := out.namespace.(constTemplate); ok {
			out.Namespace, _ = t.value.(string)
		}
	}
	if target.Labels == nil && target.Selector != nil {
		out.selector = c.lookupSelector(target.Selector, &inner, u)
	}
	patch.target, patch.Namespace, patch.Selector = out, out.Namespace, out.Selector
}

// checkPatchIdentity reports what a patch cannot set: which object it is for, the
// target says, and other fields are the API server's or Kanon's.
func (c *compiler) checkPatchIdentity(spec *syntax.Patch) {
	identity := func(n *yamltree.Node, path string) {
		if n != nil {
			c.report(c.rule.Source.At(n), diagnostic.CodePatchIdentity, "the template of %s cannot set %s: the object exists already, and the target identifies it",
				spec.Label(), path).WithHint("leave it out")
		}
	}
	identity(spec.Template.Get("apiVersion"), "apiVersion")
	identity(spec.Template.Get("kind"), "kind")
	metadata := spec.Template.Get("metadata")
	if metadata == nil || metadata.Kind != yamltree.Mapping {
		return
	}
	for _, name := range []string{"name", "namespace", "generateName"} {
		identity(metadata.Get(name), "metadata."+name)
	}
	for _, name := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields", "ownerReferences"} {
		if n := metadata.Get(name); n != nil {
			c.report(c.rule.Source.At(n), diagnostic.CodeServerField, "a template cannot set metadata.%s", name).WithHint("leave it out")
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		for _, f := range fieldsOf(metadata.Get(field)) {
			if isOwnMark(f.Name) {
				c.report(c.rule.Source.At(f.Key), diagnostic.CodeServerField, "a template cannot set metadata.%s.%s: it is Kanon's own", field, f.Name).WithHint("leave it out")
			}
		}
	}
	c.checkObjectNames(metadata, spec.Group(c.rule))
}

// isOwnMark says whether a label or an annotation is one by which Kanon knows its
// own. Those that people set, such as kanon.dev/suspend, can be patched too.
func isOwnMark(name string) bool {
	return slices.Contains([]string{
		"kanon.dev/rule", "kanon.dev/parent-uid", "kanon.dev/node", "kanon.dev/owner", "kanon.dev/applied", "kanon.dev/taken", "kanon.dev/joined", "kanon.dev/retained-by",
	}, name)
}
