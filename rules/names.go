package rules

import (
	"maps"
	"slices"

	"github.com/google/cel-go/common/ast"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
)

// exampleMember is a name that can stand behind a root.
func (a *analysis) exampleMember(root string) string {
	names := a.c.childIDs()
	switch root {
	case flow.RootVariables:
		names = a.scope.variableNames(a.c)
	case flow.RootLookups:
		names = a.c.lookupIDs()
	case flow.RootEach:
		names = a.scope.family
	}
	if len(names) == 0 {
		return "name"
	}
	return names[0]
}

func (c *compiler) childIDs() []string { return slices.Sorted(maps.Keys(c.children)) }

func (c *compiler) lookupIDs() []string { return slices.Sorted(maps.Keys(c.lookups)) }

func (a *analysis) ident(e ast.Expr, env bindings) *origin {
	name := e.AsIdent()
	if o, ok := env[name]; ok {
		return o
	}
	if name == flow.RootParent || flow.IsGroup(name) {
		return &origin{root: name}
	}
	switch name {
	case flow.RootSelf:
		a.c.read[a.scope.child] = true
		return later()
	case flow.RootNow:
		return clocked(1)
	case flow.RootFinalizing:
		a.checkFinalizing(e)
	}
	if o, ok := a.scope.names[name]; ok {
		a.uses.Items = true
		return o
	}
	return fixed()
}

// member is the origin of from.name, and that of the value that is missing where
// there is none. soft is true where the expression has a value without it.
func (a *analysis) member(e ast.Expr, from *origin, name string, soft bool) (value, missing *origin) {
	switch from.root {
	case flow.RootParent:
		if name == "status" {
			a.uses.OwnStatus = true
			return later(), later()
		}
		return fixed(), fixed()
	case flow.RootChildren:
		return a.child(e, name, soft), later()
	case flow.RootEach:
		return a.pair(e, name, soft), later()
	case flow.RootObserved:
		return a.observed(e, name), later()
	case flow.RootLookups:
		return a.lookup(e, name, soft), later()
	case flow.RootVariables:
		return a.variable(e, name), fixed()
	case flow.RootStatus:
		a.statusField(e.ID(), name)
		return later(), later()
	}
	switch {
	case from.fields != nil:
		if value = from.fields[name]; value == nil {
			value = fixed()
		}
		return value, fixed()
	case from.complete:
		return later(), from
	case from.optional != "":
		return &origin{waits: from.waits}, from
	}
	return from, from
}

// namePos is where a name stands that the node e reads.
func (a *analysis) namePos(e ast.Expr, name string) diagnostic.Position {
	return a.within(flow.NameOffset(a.expr.Text(), a.expr.Offset(e.ID()), name))
}

// child is children.<id>.
func (a *analysis) child(e ast.Expr, id string, soft bool) *origin {
	if !a.scope.allowChildren {
		return later() // unknownNames reported it
	}
	spec := a.childCalled(e, id)
	if spec == nil {
		return later()
	}
	a.c.read[id] = true
	a.uses.Nodes = append(a.uses.Nodes, flow.Ref{Root: flow.RootChildren, ID: id, Hard: !soft, Pos: a.namePos(e, id)})
	return &origin{waits: true, complete: spec.Many()}
}

// childCalled is the child that the node e names; nil after a finding.
func (a *analysis) childCalled(e ast.Expr, id string) *syntax.Child {
	spec := a.c.children[id]
	if spec == nil && !a.c.rule.OpenChildren {
		a.reportName(e.ID(), id, diagnostic.CodeUnknownChild, "there is no child called %q", id).WithHint("%s", diagnostic.DidYouMean(id, a.c.childIDs()))
	}
	return spec
}

// observed is observed.<id>. It orders nothing, and may be null.
func (a *analysis) observed(e ast.Expr, id string) *origin {
	if !a.scope.allowChildren || a.childCalled(e, id) == nil {
		return later()
	}
	a.c.read[id] = true
	a.uses.Nodes = append(a.uses.Nodes, flow.Ref{Root: flow.RootObserved, ID: id, Pos: a.namePos(e, id)})
	return later()
}

// pair is each.<id>.
func (a *analysis) pair(e ast.Expr, id string, soft bool) *origin {
	if len(a.scope.family) == 0 {
		return later() // unknownNames reported it
	}
	switch {
	case slices.Contains(a.scope.family, id):
		a.uses.Items, a.c.read[id] = true, true
		a.uses.Nodes = append(a.uses.Nodes, flow.Ref{Root: flow.RootEach, ID: id, Hard: !soft, Pos: a.namePos(e, id)})
	case a.childCalled(e, id) != nil:
		a.reportName(e.ID(), id, diagnostic.CodeNotPaired, "%s does not have the same items as %s, so each.%s does not exist", id, a.scope.place, id).
			WithHint("%s", diagnostic.DidYouMean(id, a.scope.family))
	}
	return later()
}

// variable is variables.<name>.
func (a *analysis) variable(e ast.Expr, name string) *origin {
	v := a.c.variable(a.scope, name)
	if v == nil {
		if !a.c.rule.OpenVariables && !a.scope.openVariables {
			a.reportName(e.ID(), name, diagnostic.CodeUnknownVariable, "there is no variable called %q", name).WithHint("%s", diagnostic.DidYouMean(name, a.scope.variableNames(a.c)))
		}
		return fixed()
	}
	a.follow(e, flow.RootVariables+"."+name, v.uses, nil)
	if len(v.uses.Random) > 0 {
		a.random = true
		keeps := a.scope.ownRandom || a.scope.ownGenerated != "" // of the others it was reported
		if keeps && !a.scope.random && a.scope.own == "" && a.scope.locals[name] != nil {
			a.reportUnkept(e, name)
		}
	}
	if v.origin == nil {
		return fixed()
	}
	return v.origin
}

// lookup is lookups.<id>.
func (a *analysis) lookup(e ast.Expr, id string, soft bool) *origin {
	l := a.c.lookups[id]
	if l == nil {
		if !a.c.rule.OpenLookups {
			f := a.reportName(e.ID(), id, diagnostic.CodeUnknownLookup, "there is no lookup called %q", id)
			if f.WithHint("%s", diagnostic.DidYouMean(id, a.c.lookupIDs())); f.Hint == "" && a.c.children[id] != nil {
				f.Hint = "write children." + id
			}
		}
		return later()
	}
	a.c.compileLookup(l)
	a.uses.Nodes = append(a.uses.Nodes, flow.Ref{Root: flow.RootLookups, ID: id, Hard: !soft, Pos: a.namePos(e, id)})
	a.follow(e, flow.RootLookups+"."+id, &l.uses, &l.guard)
	o := &origin{waits: true, complete: l.spec.IsList()}
	if l.spec.MayBeNull() {
		o.optional = id
	}
	return o
}

// follow takes over what a variable or a lookup reads.
func (a *analysis) follow(e ast.Expr, name string, read *flow.Uses, by *flow.Guard) {
	for _, r := range read.Nodes {
		if r.Root != flow.RootLookups && !a.scope.allowChildren {
			a.report(e.ID(), diagnostic.CodeOutOfScope, "%s reads %s, which cannot be read in %s", name, r.Name(), a.scope.place)
		}
	}
	a.uses.Follow(read, a.at(e.ID()), by)
}
