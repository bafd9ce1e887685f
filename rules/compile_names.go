package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// origin is what is known of a value: where it comes from, and its type.
type origin struct {
	flow.Origin
	typ check.Type
	// holds are, for a variable, the paths that exist if it is true.
	holds map[string]bool
}

// Moves reports whether the value can change with every second. A nil origin does not.
func (o *origin) Moves() bool { return o != nil && o.Origin.Moves() }

// names resolves the names in an expression. It compiles the variables and the lookups that the expression reads.
type names struct {
	c    *compiler
	sc   *compileScope
	expr *celenv.Expression
	// node is the scalar that contains the expression.
	node *yamltree.Node
}

// Origin is where the value of a name of the scope comes from; nil for every other name.
func (s *names) Origin(name string) *flow.Origin {
	if o, ok := s.sc.names[name]; ok {
		return &o.Origin
	}
	return nil
}

// Variable is a variable of the rule or of the scope; nil if no variable has the name.
func (s *names) Variable(name string) *flow.Variable {
	v := s.c.variable(s.sc, name)
	if v == nil {
		return nil
	}
	out := &flow.Variable{Uses: v.uses, Local: s.sc.locals[name] != nil, StandsFor: v.standsFor}
	if v.origin != nil {
		out.Origin = &v.origin.Origin
	}
	return out
}

// Lookup is a lookup of the rule; nil if no lookup has the id.
func (s *names) Lookup(id string) *flow.Lookup {
	if l := s.c.lookups[id]; l != nil {
		s.c.compileLookup(l)
	}
	return s.c.lookup(id)
}

// Members lists the names that can follow a root. It leaves out the part of the rule that the expression belongs to.
func (s *names) Members(root string) []string {
	var all []string
	switch root {
	case flow.RootVariables:
		all = slices.AppendSeq(slices.Collect(maps.Keys(s.c.variables)), maps.Keys(s.sc.locals))
		slices.Sort(all)
	case flow.RootLookups:
		all = slices.Sorted(maps.Keys(s.c.lookups))
	case flow.RootEach:
		return s.sc.Family
	default:
		all = slices.Sorted(maps.Keys(s.c.children))
	}
	return slices.DeleteFunc(all, func(name string) bool {
		own := root + "." + name
		return slices.ContainsFunc(s.c.stack, func(p pending) bool { return p.name == own }) || s.sc.Place == own || strings.HasPrefix(s.sc.Place, own+".")
	})
}

// Name is the type of a name in an expression.
func (s *names) Name(name string) (check.Type, bool) {
	switch name {
	case flow.RootParent:
		return s.c.kindType(s.c.rule.Parent.GVK, false), true
	case flow.RootNow:
		return check.Of(types.TimestampType), true
	case flow.RootFinalizing:
		return check.Of(types.BoolType), true
	}
	if flow.IsGroup(name) {
		return check.Group(name), true
	}
	o, ok := s.sc.names[name]
	if !ok {
		return check.Type{}, false
	}
	return o.typ, true
}

// Member is the type of a member of a group.
func (s *names) Member(group, name string) check.Type {
	switch group {
	case flow.RootChildren, flow.RootObserved, flow.RootEach:
		if spec := s.c.children[name]; spec != nil {
			return s.c.kindType(syntax.TemplateGVK(spec.Template), spec.Many() && group != flow.RootEach)
		}
	case flow.RootLookups:
		if l := s.c.lookups[name]; l != nil {
			return s.c.kindType(l.spec.GVK, l.spec.IsList())
		}
	case flow.RootVariables:
		if v := s.c.variable(s.sc, name); v != nil && v.origin != nil {
			return v.origin.typ
		}
	}
	return check.Type{}
}

// Holds are the paths that exist if a variable is true.
func (s *names) Holds(variable string) map[string]bool {
	if v := s.c.variable(s.sc, variable); v != nil && v.origin != nil {
		return v.origin.holds
	}
	return nil
}
