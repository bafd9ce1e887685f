package flow

import (
	"slices"
	"strings"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// Unknown reports unknown names and functions in an expression, with what to write instead. It returns the names, so
// that the expression can be checked as if they existed, and whether a function is unknown.
func Unknown(parsed *celenv.Expression, scope Scope, known Names, report Report) (roots []string, functions bool) {
	env, text := parsed.Env(), parsed.Text()
	names, called := parsed.Names()
	names = slices.DeleteFunc(names, func(n celenv.Name) bool { return slices.Contains(scope.Roots, n.Name) || env.IsType(n.Name) })
	misused := false
	for _, f := range called {
		if env.IsFunction(f.Name) {
			// A macro that was not expanded may declare a name.
			misused = misused || IsMacro(f.Name)
			continue
		}
		functions = true
		name, offset := f.Name, NameOffset(text, f.Offset, f.Name)
		// In math.foo(), an unknown name math belongs to the name of the function, and is not reported on its own.
		names = slices.DeleteFunc(names, func(n celenv.Name) bool {
			if n.Offset < 0 || n.Offset+len(n.Name)+1 != offset || text[n.Offset+len(n.Name)] != '.' {
				return false
			}
			name, offset = n.Name+"."+f.Name, n.Offset
			return true
		})
		unknown := report(offset, diagnostic.CodeUnknownFunction, "unknown function %q", name)
		if unknown.Hint = foreignFunction(f.Name); unknown.Hint == "" {
			unknown.Suggest(name, env.FunctionNames())
		}
	}
	for _, n := range names {
		if why := outOfScope(n.Name, scope); why != "" {
			report(n.Offset, diagnostic.CodeOutOfScope, "%s", why)
		} else if !scope.OpenNames && !misused {
			unknown := report(n.Offset, diagnostic.CodeUnknownName, "unknown name %q", n.Name)
			hintRoot(unknown, text, n, scope, known)
		}
		roots = append(roots, n.Name)
	}
	return roots, functions
}

// outOfScope says why a name that exists elsewhere does not exist here.
func outOfScope(name string, sc Scope) string {
	switch name {
	case RootChildren:
		return "children cannot be read in " + sc.Place
	case RootSelf:
		return "self is the live object in readyWhen, updateWhen and recreateWhen, and is known only there"
	case RootStatus:
		if strings.HasPrefix(sc.Place, "spec.events") {
			return "status is what spec.status renders, and this rule has none"
		}
		return "status is what spec.status renders, and is known only in spec.events; what the parent has is parent.status"
	case RootObserved:
		return "observed cannot be read in " + sc.Place
	case RootEach:
		if sc.OpenNames {
			return "" // it may be known
		}
		return "each is the object of the item that is paired with this one, and is known only under forEach: {sameAs: …}"
	}
	return ""
}

// hintRoot adds what an unknown name may be meant for.
func hintRoot(f *diagnostic.Finding, text string, n celenv.Name, sc Scope, known Names) {
	isMember := func(root string) bool { return slices.Contains(known.Members(root), n.Name) }
	name := n.Name
	if whole := dashedName(text, n); whole != "" {
		f.WithHint("- and / are operators here: a key that has them is written in brackets, as in [%q]", whole)
		return
	}
	meant := func(root string) { f.WithEdit(f.Position, name, root) }
	write := func(path string) {
		f.WithHint("write %s", path)
		meant(path)
	}
	switch {
	case name == "schema":
		f.WithHint("the object that the rule is for is parent, as in %s", strings.Replace(text, "schema.", "parent.", 1))
		meant(RootParent)
	case name == "resources":
		f.WithHint("the objects that the rule makes are children, as in children.<id>")
		meant(RootChildren)
	case name == "spec" || name == "metadata" || name == "status":
		write("parent." + name)
	case name == "vars":
		write(RootVariables)
	case name == "object" || name == "oldObject" || name == "request":
		f.WithHint("the object that the rule is for is parent")
	case sc.AllowChildren && isMember(RootChildren):
		write("children." + name)
	case isMember(RootLookups):
		write("lookups." + name)
	case isMember(RootVariables):
		write("variables." + name)
	case f.Suggest(name, sc.Roots).Hint != "":
	case sc.Bare:
		f.WithHint("known names: %s", strings.Join(sc.Roots, ", "))
	case text == name:
		f.WithHint("to write ${%s} as text, write $${%s}", name, name)
	default:
		f.WithHint("known names: %s; to write ${ as text, write $${", strings.Join(sc.Roots, ", "))
	}
}

// IsMacro reports whether the parser expands calls with a name. A call that is left was written incorrectly.
func IsMacro(name string) bool {
	switch name {
	case "has", "map", "filter", "all", "exists", "exists_one", "existsOne", "sortBy":
		return true
	}
	return false
}

// dashedName is the whole key if a name is the last part of a key with - or /, such as app-name. In CEL,
// labels.app-name is a subtraction.
func dashedName(text string, n celenv.Name) string {
	at := n.Offset
	if at < 2 || at > len(text) || text[at-1] != '-' && text[at-1] != '/' {
		return ""
	}
	if text[at-1] == '/' {
		return "…/" + n.Name // where the key begins cannot be seen
	}
	start := at - 1
	for start > 0 && (yamltree.IsNameByte(text[start-1]) || text[start-1] == '-') {
		start--
	}
	if start == at-1 || start == 0 || text[start-1] != '.' && text[start-1] != '?' {
		return ""
	}
	return text[start:at] + n.Name
}

// foreignFunction is a hint for a function of another language.
func foreignFunction(name string) string {
	switch name {
	case "len", "length", "count":
		return "write size(…)"
	case "default", "coalesce", "getOrDefault", "orDefault":
		return "write .? before the field that may be missing, and orValue(…) behind it, as in parent.spec.?x.orValue(1)"
	case "toUpper", "upper", "toUpperCase":
		return "write upperAscii()"
	case "toLower", "lower", "toLowerCase":
		return "write lowerAscii()"
	case "str", "toString", "String":
		return "write string(…)"
	case "b64enc":
		return "write base64.encode(bytes(…))"
	case "b64dec":
		return "write string(base64.decode(…))"
	}
	return ""
}
