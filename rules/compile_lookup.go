package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// lookupState is a lookup while the rule is compiled.
type lookupState struct {
	spec     *syntax.Lookup
	compiled *program.Lookup
	state    compileState
	uses     flow.Uses
	guard    flow.Guard
}

func newLookupState(spec *syntax.Lookup) *lookupState {
	return &lookupState{spec: spec, compiled: newLookup(spec), guard: flow.Guard{Given: spec.When != nil, Lost: spec.Gaps["when"]}}
}

func newLookup(spec *syntax.Lookup) *program.Lookup {
	return &program.Lookup{ID: spec.ID, Index: spec.Index, GVK: spec.GVK, Position: spec.Pos, Optional: spec.Optional, Namespaced: true, Selector: spec.Labels}
}

// lookup is what is known of a lookup so far; nil if no lookup has the id.
func (c *compiler) lookup(id string) *flow.Lookup {
	l := c.lookups[id]
	if l == nil {
		return nil
	}
	return &flow.Lookup{Lookup: l.spec, Uses: &l.uses, Guard: &l.guard}
}

// compileLookups compiles all lookups, including those that nothing reads.
func (c *compiler) compileLookups(p *program.Program, all *flow.Uses) {
	p.LookupByID = make(map[string]*program.Lookup, len(c.lookups))
	for i := range c.rule.Lookups {
		spec := &c.rule.Lookups[i]
		l := c.lookups[spec.ID]
		if l == nil || l.spec != spec { // it has no id, or one that is taken
			l = newLookupState(spec)
		}
		c.compileLookup(l)
		c.checkLookupKind(l, p)
		all.Own.Add(l.uses.Own)
		p.Lookups, p.LookupByID[spec.ID] = append(p.Lookups, l.compiled), l.compiled
	}
}

func (c *compiler) compileLookup(l *lookupState) {
	spec, out := l.spec, l.compiled
	switch l.state {
	case stateDone:
		return
	case stateCompiling:
		c.reportCycle(spec.Pos, spec.Label())
		return
	}
	l.state = stateCompiling
	c.stack = append(c.stack, pending{spec.Label(), spec.Pos})
	results := c.results // are those of what reads the lookup
	c.results = map[*yamltree.Node]result{}
	sc, u := c.bodyScope(spec.Label(), &spec.Body), &l.uses
	c.body(&spec.Body, &out.Body, sc, u, &l.guard)
	c.query(spec, out, sc, u)
	out.Private = c.readsSecret(u)
	c.results = results
	c.stack = c.stack[:len(c.stack)-1]
	l.state = stateDone
}

func (c *compiler) bodyScope(place string, spec *syntax.Body) *compileScope {
	return &compileScope{
		Scope: flow.Scope{Place: place, AllowChildren: true, OpenNames: spec.OpenNames, OpenVariables: spec.OpenVariables},
		asked: c.asked, names: map[string]*origin{}, locals: map[string]*variable{},
	}
}

func (c *compiler) body(spec *syntax.Body, out *program.Body, sc *compileScope, u *flow.Uses, g *flow.Guard) {
	out.ForEach = c.dimensions(spec.ForEach, sc, u)
	c.locals(spec, out, sc)
	c.when(spec, out, sc, u, g)
	for _, name := range slices.Sorted(maps.Keys(sc.locals)) {
		c.compileVariable(sc.locals[name], sc)
	}
}

func (c *compiler) query(spec *syntax.Lookup, out *program.Lookup, sc *compileScope, u *flow.Uses) {
	out.NameFrom = c.field(spec.Name, sc.in(".name"), u, objectName("name"))
	if s, _ := spec.Namespace.Text(); s == syntax.AllNamespaces {
		out.AllNamespaces = true
	} else {
		out.NamespaceFrom = c.field(spec.Namespace, sc.in(".namespace"), u, objectName("namespace"))
		if t, ok := out.NamespaceFrom.(program.Const); ok {
			out.Namespace, _ = t.Value.(string)
		}
	}
	if spec.Labels == nil && spec.Selector != nil {
		out.SelectorFrom = c.lookupSelector(spec.Selector, sc, u)
	}
}

func (c *compiler) lookupSelector(n *yamltree.Node, sc *compileScope, u *flow.Uses) program.Template {
	sc = sc.in(".selector")
	t, from := c.template(n, sc, u)
	if from == nil {
		return t
	}
	switch typ := from.typ.Inner(); typ.Kind() {
	case types.MapKind:
		// Its values would be matchLabels and matchExpressions.
		if text, ok := n.Text(); ok && typ.CEL().Parameters()[1].Kind() == types.StringKind {
			c.ReportNode(n, diagnostic.CodeResultType, "%s must be a map with matchLabels or matchExpressions, and this gives a map of strings", sc.Place).
				WithHint("write matchLabels: %s", strings.TrimSpace(text))
		}
	case types.StructKind, types.DynKind:
	default:
		c.ReportNode(n, diagnostic.CodeResultType, "%s must be a map with matchLabels or matchExpressions, and this gives %s", sc.Place, typ)
	}
	c.textsOnly(n, &openapi.Schema{Type: openapi.Map, Items: &openapi.Schema{Type: openapi.Map, Items: textSchema()}})
	c.constants.Try(n, t, c.constantsOf(sc), sc.Place, attemptOf(program.SelectorOf))
	return t
}

// textsOnly makes sure that a selector compares text and not bytes. s is the schema of the part n.
func (c *compiler) textsOnly(n *yamltree.Node, s *openapi.Schema) {
	if x := c.results[n].x; x != nil {
		if x.Inner().Kind() == types.BytesKind {
			f := c.ReportNode(n, diagnostic.CodeResultType, "a selector compares text, and this gives bytes")
			f.WithHint("write string(…) around it")
			c.wrapInString(f, n, c.results[n].part)
		}
		x.goesInto(s)
	}
	for _, f := range n.Fields {
		c.textsOnly(f.Value, s.Items)
	}
	for _, item := range n.Items {
		c.textsOnly(item, &openapi.Schema{Type: openapi.Map, Items: textSchema()})
	}
}

// checkLookupKind looks up the kind of a lookup, and compares its scope with the namespace.
func (c *compiler) checkLookupKind(l *lookupState, p *program.Program) {
	spec, out := l.spec, l.compiled
	kind, known := c.kind(spec.GVK, spec.Node, parentVerbs(), kindUse{node: spec.Label(), optional: spec.Optional})
	out.Namespaced, out.Unresolved = kind.Namespaced, c.isUnresolved(known, spec.GVK)
	c.confine(spec.Label(), spec.GVK, kind.Namespaced, spec.Node, spec.Namespace)
	if known {
		c.checkNamespace(spec.Node, p, kind.Namespaced, namespaceUse{kind: spec.GVK.Kind, pos: spec.Pos, needs: spec.Label() + " needs a namespace"})
	}
}

// namespaceUse is a part of the rule that names the namespace of objects, or has to.
type namespaceUse struct {
	kind string
	// pos and needs report a missing namespace. hint belongs to one that must not be set.
	pos         diagnostic.Position
	needs, hint string
}

func (c *compiler) checkNamespace(in *yamltree.Node, p *program.Program, namespaced bool, use namespaceUse) {
	switch namespace := in.Get("namespace"); {
	case namespace != nil && !namespaced:
		c.ReportNode(namespace, diagnostic.CodeNamespaceForbid, "%s is cluster-scoped and cannot have a namespace", use.kind).Hint = use.hint
	case !in.Has("namespace") && namespaced && !p.Parent.Namespaced:
		c.Report(use.pos, diagnostic.CodeNamespaceRequired, "%s, because %s, the parent's kind, is cluster-scoped", use.needs, p.Parent.GVK.Kind)
	}
}

func (c *compiler) readsSecret(u *flow.Uses) bool {
	for _, r := range u.Nodes {
		if r.Root == flow.RootLookups {
			if l := c.lookups[r.ID]; l != nil && syntax.IsSecret(l.spec.GVK) {
				return true
			}
			continue
		}
		if child := c.children[r.ID]; child != nil && syntax.IsSecret(syntax.TemplateGVK(child.Template)) {
			return true
		}
	}
	return false
}

// isPlace reports whether a path leads to the name or the namespace of an object.
func isPlace(path string) bool {
	return strings.HasSuffix(path, ".metadata.name") || strings.HasSuffix(path, ".metadata.namespace")
}

// isSecret reports whether an expression in one of these parts of the rule reads a Secret, or a child that is named after
// one.
func (c *compiler) isSecret(parts ...*yamltree.Node) bool {
	for _, part := range parts {
		for n := range part.All() {
			if c.secret[n] || slices.ContainsFunc(c.nodes[n], func(r flow.Ref) bool { return r.Root != flow.RootLookups && c.private[r.ID] }) {
				return true
			}
		}
	}
	return false
}

// itemsOf lists what gives the items of a forEach.
func itemsOf(dimensions []syntax.Dimension) []*yamltree.Node {
	var in []*yamltree.Node
	for i := range dimensions {
		in = append(in, dimensions[i].In)
	}
	return in
}

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
		patch.Target.Private = c.isSecret(append(itemsOf(spec.ForEach), spec.Target.Name, spec.Target.Namespace)...)
		p.HidesNames = p.HidesNames || patch.Target.Private
	}
	if spec.Template != nil {
		c.checkPatchIdentity(spec)
		rendered := sc.in(".template")
		rendered.Rendered = true
		patch.Template, _ = c.template(spec.Template, rendered, &by.Uses)
		c.conform(spec.Template, patch.GVK, hasStatus, true)
		c.checkReadsItself(spec, patch, &by.Uses)
		patch.PrivateKeys = c.isSecret(spec.Template)
		p.HidesKeys = p.HidesKeys || patch.PrivateKeys
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
