package rules

import (
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// checkReadsItself reports a patch that reads a field which it writes: each write
// would be a reason for the next, or for taking it back.
func (c *compiler) checkReadsItself(spec *syntax.Patch, patch *program.Patch, u *flow.Uses) {
	fields := flow.Written(spec.Template, nil)
	reported := map[diagnostic.Position]bool{}
	for _, r := range u.Fields {
		if reported[r.Pos] || !c.readsTarget(spec, patch, r.Root) {
			continue
		}
		for _, f := range fields {
			if f.IsReadBy(r) {
				reported[r.Pos] = true
				c.report(r.Pos, diagnostic.CodePatchReadsItself, "%s reads %s, and writes %s itself", spec.Label(), r.Text, strings.Join(f.Path, ".")).
					WithHint("compute it from what the patch does not write")
				break
			}
		}
	}
}

// readsTarget says whether what an expression reads is, for all that can be seen,
// the object that the patch is for.
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
