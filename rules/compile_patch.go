package rules

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
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
func (c *compiler) patches(p *Program, all *uses) []*compiledPatch {
	out := make([]*compiledPatch, len(c.rule.patches))
	for i := range c.rule.patches {
		spec := &c.rule.patches[i]
		out[i] = c.patch(spec, p, all)
	}
	return out
}

func (c *compiler) patch(spec *patchSpec, p *Program, all *uses) *compiledPatch {
	patch := &compiledPatch{Patch: Patch{ID: spec.id, Position: spec.pos, Refuse: spec.refuse}}
	by := &reader{label: spec.label(), guard: guard{given: spec.when != nil, lost: spec.gaps["when"]}}
	c.results = map[*yamltree.Node]result{}
	sc := &compileScope{
		place: spec.label(), allowChildren: true, asked: c.asked, openNames: spec.openNames, openVariables: spec.openVariables,
		names: map[string]*origin{}, locals: map[string]*compiledVariable{},
	}
	c.patchTargetKind(spec, patch, p)
	patch.forEach = c.dimensions(spec.forEach, sc, &by.uses)
	c.locals(&spec.bodySpec, &patch.body, sc)
	c.when(&spec.bodySpec, &patch.body, sc, &by.uses, &by.guard)
	for _, name := range slices.Sorted(maps.Keys(patch.locals)) {
		c.compileVariable(patch.locals[name], sc)
	}
	c.patchTarget(spec, patch, sc, &by.uses)
	if spec.template != nil {
		c.checkPatchIdentity(spec)
		rendered := *sc
		rendered.place, rendered.rendered = sc.place+".template", true
		patch.template, _ = c.template(spec.template, &rendered, &by.uses)
		c.conformPatch(spec, patch)
		c.checkReadsItself(spec, patch, &by.uses)
	}
	c.readers = append(c.readers, by)
	all.ownStatus = all.ownStatus || by.ownStatus
	for _, v := range patch.locals {
		all.ownStatus = all.ownStatus || v.uses.ownStatus
	}
	return patch
}

// patchTargetKind looks up the kind that a patch is for.
func (c *compiler) patchTargetKind(spec *patchSpec, patch *compiledPatch, p *Program) {
	target := spec.target
	if target == nil {
		patch.GVK, patch.Namespaced, patch.Parent = p.parent.GVK, p.parent.Namespaced, true
		patch.kind, _ = c.kindOnce(p.parent.GVK, c.rule.parent.node, patchVerbs())
		return
	}
	patch.GVK = target.gvk
	kind, known := c.kind(target.gvk, target.node, patchVerbs(), kindUse{node: "patch " + spec.id})
	patch.kind, patch.Namespaced, patch.Unresolved = kind, kind.Namespaced, c.isUnresolved(known, target.gvk)
	if isSecret(target.gvk) && !spec.refuse {
		c.report(c.fieldAt(target.node, "kind"), diagnostic.CodePatchSecret,
			"what %s takes from others in a Secret is not remembered, so that it cannot be given back when the patch is released", spec.label()).
			WithHint("say conflict: Refuse, so that the patch takes nothing")
	}
	if !known {
		return
	}
	namespace := target.node.Get("namespace")
	switch {
	case namespace != nil && !kind.Namespaced:
		c.report(c.rule.src.At(namespace), diagnostic.CodeNamespaceForbid, "%s is cluster-scoped and cannot have a namespace", target.gvk.Kind).
			WithHint("leave it out")
	case !target.node.Has("namespace") && kind.Namespaced && !p.parent.Namespaced:
		c.report(target.pos, diagnostic.CodeNamespaceRequired, "the target of %s needs a namespace, because %s, the parent's kind, is cluster-scoped",
			spec.label(), p.parent.GVK.Kind)
	}
}

// kindOnce is kind for one of which all but the verbs was looked at before.
func (c *compiler) kindOnce(gvk schema.GroupVersionKind, n *yamltree.Node, verbs []string) (Kind, bool) {
	if c.opts.Kinds == nil || gvk.Kind == "" {
		return Kind{Namespaced: true}, false
	}
	k, ok := c.opts.Kinds.Lookup(gvk)
	if ok && k.Verbs != nil && !k.Verbs.HasAll(verbs...) {
		lacks := slices.DeleteFunc(verbs, k.Verbs.Has)
		c.report(c.fieldAt(n, "kind"), diagnostic.CodeUnusableKind, "kind %s in %s cannot be patched: its API has no %s",
			gvk.Kind, gvk.GroupVersion(), strings.Join(lacks, ", "))
	}
	return k, ok
}

// patchTarget compiles what finds the objects that a patch is for.
func (c *compiler) patchTarget(spec *patchSpec, patch *compiledPatch, sc *compileScope, u *uses) {
	target := spec.target
	if target == nil {
		return
	}
	out := &compiledLookup{
		Lookup: Lookup{GVK: target.gvk, Namespaced: patch.Namespaced, Selector: target.labels},
		fixed:  target.labels, where: "target",
	}
	inner := *sc
	inner.place = sc.place + ".target"
	out.name = c.lookupText(target.name, "name", &inner, u)
	if s, _ := target.namespace.Text(); s == allNamespaces {
		out.all = true
	} else {
		out.namespace = c.lookupText(target.namespace, "namespace", &inner, u)
		if t, ok := out.namespace.(constTemplate); ok {
			out.Namespace, _ = t.value.(string)
		}
	}
	if target.labels == nil && target.selector != nil {
		out.selector = c.lookupSelector(target.selector, &inner, u)
	}
	patch.target, patch.Namespace, patch.Selector = out, out.Namespace, out.Selector
}

// checkPatchIdentity reports what a patch cannot set: which object it is for, the
// target says, and other fields are the API server's or Kanon's.
func (c *compiler) checkPatchIdentity(spec *patchSpec) {
	identity := func(n *yamltree.Node, path string) {
		if n != nil {
			c.report(c.rule.src.At(n), diagnostic.CodePatchIdentity, "the template of %s cannot set %s: the object is there already, and the target says which it is",
				spec.label(), path).WithHint("leave it out")
		}
	}
	identity(spec.template.Get("apiVersion"), "apiVersion")
	identity(spec.template.Get("kind"), "kind")
	metadata := spec.template.Get("metadata")
	if metadata == nil || metadata.Kind != yamltree.Mapping {
		return
	}
	for _, name := range []string{"name", "namespace", "generateName"} {
		identity(metadata.Get(name), "metadata."+name)
	}
	for _, name := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields", "ownerReferences"} {
		if n := metadata.Get(name); n != nil {
			c.report(c.rule.src.At(n), diagnostic.CodeServerField, "metadata.%s is not for a template to set", name).WithHint("leave it out")
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		for _, f := range fieldsOf(metadata.Get(field)) {
			if isOwnMark(f.Name) {
				c.report(c.rule.src.At(f.Key), diagnostic.CodeServerField, "metadata.%s.%s is not for a template to set: it is Kanon's own", field, f.Name).WithHint("leave it out")
			}
		}
	}
	c.checkObjectNames(metadata, spec.groupOf(c.rule))
}

// isOwnMark says whether a label or an annotation is one by which Kanon knows its
// own. Those that people set, such as kanon.dev/suspend, can be patched too.
func isOwnMark(name string) bool {
	return slices.Contains([]string{
		"kanon.dev/rule", "kanon.dev/parent-uid", "kanon.dev/node", "kanon.dev/owner", "kanon.dev/applied", "kanon.dev/taken", "kanon.dev/joined", "kanon.dev/retained-by",
	}, name)
}

func (p *patchSpec) groupOf(r *Rule) string {
	if p.target == nil {
		return r.parent.gvk.Group
	}
	return p.target.gvk.Group
}

// conformPatch compares a patch's template with the schema of its kind. It may lack
// what the object needs: that is there.
func (c *compiler) conformPatch(spec *patchSpec, patch *compiledPatch) {
	s := c.schemaOf(patch.GVK)
	if s == nil {
		return
	}
	f := &conformer{c: c, builtIn: isBuiltIn(patch.GVK.Group), shared: true, noStatus: patch.kind.HasStatus}
	f.value(spec.template, s, &fieldPath{name: patch.GVK.Kind})
}
