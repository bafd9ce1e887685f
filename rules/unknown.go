package rules

import (
	"fmt"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
)

// unknownNames is what an expression names and nothing is known of.
type unknownNames struct {
	// roots are names that paths start with. An expression can be checked as if
	// they were known, so that what else is wrong in it comes out too.
	roots []string
	// functions says whether there are functions among it.
	functions bool
}

// unknownNames reports names and functions that nothing is known of, with what
// to write instead.
func (c *compiler) unknownNames(parsed *celenv.Parsed, text string, sc *compileScope, at func(int) diagnostic.Position) unknownNames {
	var unknown unknownNames
	names, functions := parsed.Names()
	names = slices.DeleteFunc(names, func(n celenv.Name) bool {
		return slices.Contains(sc.roots(), n.Name) || c.env.IsType(n.Name)
	})
	misused := false
	for _, f := range functions {
		if c.env.IsFunction(f.Name) {
			// A macro that was not expanded may declare a name.
			misused = misused || isMacro(f.Name)
			continue
		}
		unknown.functions = true
		name, offset := f.Name, flow.NameOffset(text, f.Offset, f.Name)
		// An unknown name before it is taken for the rest of its own: math.foo.
		names = slices.DeleteFunc(names, func(n celenv.Name) bool {
			if n.Offset < 0 || n.Offset+len(n.Name)+1 != offset || text[n.Offset+len(n.Name)] != '.' {
				return false
			}
			name, offset = n.Name+"."+f.Name, n.Offset
			return true
		})
		hint := flow.ForeignFunction(f.Name)
		if hint == "" {
			hint = diagnostic.DidYouMean(name, c.env.FunctionNames())
		}
		c.report(at(offset), diagnostic.CodeUnknownFunction, "unknown function %q", name).WithHint("%s", hint)
	}
	for _, n := range names {
		if why := outOfScope(n.Name, sc); why != "" {
			c.report(at(n.Offset), diagnostic.CodeOutOfScope, "%s", why)
		} else if !sc.openNames && !misused {
			c.report(at(n.Offset), diagnostic.CodeUnknownName, "unknown name %q", n.Name).WithHint("%s", c.rootHint(text, n, sc))
		}
		unknown.roots = append(unknown.roots, n.Name)
	}
	return unknown
}

// outOfScope says why a name that means something elsewhere does not here.
func outOfScope(name string, sc *compileScope) string {
	switch name {
	case flow.RootChildren:
		return "children cannot be read in " + sc.place
	case flow.RootSelf:
		return "self is the live object in readyWhen, updateWhen and recreateWhen, and is known only there"
	case flow.RootStatus:
		if sc.names[flow.RootStatus] == nil && strings.HasPrefix(sc.place, "spec.events") {
			return "status is what spec.status renders, and this rule has none"
		}
		return "status is what spec.status renders, and is known only in spec.events; what the parent has is parent.status"
	case flow.RootObserved:
		return "observed cannot be read in " + sc.place
	case flow.RootEach:
		if sc.openNames {
			return "" // it may be known
		}
		return "each is the object of the item that is paired with this one, and is known only under forEach: {sameAs: …}"
	}
	return ""
}

// rootHint says what an unknown name could have been meant for.
func (c *compiler) rootHint(text string, n celenv.Name, sc *compileScope) string {
	name := n.Name
	if whole := flow.DashedName(text, n); whole != "" {
		return fmt.Sprintf("- and / are operators here: a key that has them is written in brackets, as in [%q]", whole)
	}
	switch {
	case name == "schema":
		return "the object that the rule is for is parent, as in " + strings.Replace(shorten(text), "schema.", "parent.", 1)
	case name == "resources":
		return "the objects that the rule makes are children, as in children.<id>"
	case name == "spec" || name == "metadata" || name == "status" && sc.names[flow.RootStatus] == nil:
		return "write parent." + name
	case name == "vars":
		return "write variables"
	case name == "object" || name == "oldObject" || name == "request":
		return "the object that the rule is for is parent"
	case c.children[name] != nil && sc.allowChildren:
		return "write children." + name
	case c.lookups[name] != nil:
		return "write lookups." + name
	case c.isVariable(name, sc):
		return "write variables." + name
	}
	if near := diagnostic.DidYouMean(name, sc.roots()); near != "" {
		return near
	}
	if text == name {
		return fmt.Sprintf("to write ${%s} as text, write $${%s}", name, name)
	}
	return fmt.Sprintf("known names: %s; to write ${ as text, write $${", strings.Join(sc.roots(), ", "))
}
