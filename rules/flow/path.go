package flow

import (
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// Path is an expression that reads field after field: parent.spec.?items[0].name. Any expression is a path, perhaps
// without steps.
type Path struct {
	// root is the expression that the first step reads from.
	root ast.Expr
	// Steps are in the order of the text.
	Steps []Step
}

// Step reads a field or an item.
type Step struct {
	// Expr is the path up to and with this step, and operand the path before it.
	Expr, Operand ast.Expr
	// Name is the field. Literal is false if it is computed, by Index.
	Name    string
	Literal bool
	Index   ast.Expr
	// Optional is true for .?name and [?name], and Asks for has(path.name).
	Optional, Asks bool
}

// PathOf splits an expression into its steps.
func PathOf(e ast.Expr) Path {
	var steps []Step
	for {
		step, ok := StepOf(e)
		if !ok {
			slices.Reverse(steps)
			return Path{root: e, Steps: steps}
		}
		steps = append(steps, step)
		e = step.Operand
	}
}

// StepOf is the last step of a path. It is false for an expression without steps.
func StepOf(e ast.Expr) (Step, bool) {
	switch e.Kind() {
	case ast.SelectKind:
		sel := e.AsSelect()
		return Step{Expr: e, Operand: sel.Operand(), Name: sel.FieldName(), Literal: true, Asks: sel.IsTestOnly()}, true
	case ast.CallKind:
		call := e.AsCall()
		if !isStep(call.FunctionName()) {
			return Step{}, false
		}
		step := Step{Expr: e, Operand: call.Args()[0], Index: call.Args()[1], Optional: call.FunctionName() != operators.Index}
		step.Name, step.Literal = LiteralText(call.Args()[1])
		return step, true
	default:
		return Step{}, false
	}
}

// isStep reports whether an operator reads a field or an item of its first operand.
func isStep(operator string) bool {
	return operator == operators.Index || operator == operators.OptIndex || operator == operators.OptSelect
}

// RootName is the name that the path begins with; empty if it begins with another expression.
func (p Path) RootName() string {
	if p.root.Kind() != ast.IdentKind {
		return ""
	}
	return p.root.AsIdent()
}

// Variable is the name of the variable that the path begins with, and the node that reads it. It is empty for any other
// path.
func (p Path) Variable() (string, ast.Expr) {
	if len(p.Steps) == 0 || p.RootName() != RootVariables || p.Steps[0].Optional || p.Steps[0].Asks {
		return "", nil
	}
	return p.Steps[0].Name, p.Steps[0].Expr
}

// WholeVariable is the variable of which an expression consists; empty for any other expression.
func WholeVariable(e ast.Expr) string {
	p := PathOf(e)
	if len(p.Steps) != 1 {
		return ""
	}
	name, _ := p.Variable()
	return name
}

// Nodes are the ids of the steps, the last one first.
func (p Path) Nodes() []int64 {
	var ids []int64
	for _, step := range slices.Backward(p.Steps) {
		ids = append(ids, step.Expr.ID())
	}
	return ids
}

// anyKey replaces a computed key or index in a list of names.
const anyKey = "*"

// Names lists the root and the fields of a path. It ends with anyKey at the first computed key.
func (p Path) Names() []string {
	out := []string{p.RootName()}
	for _, step := range p.Steps {
		if !step.Literal {
			return append(out, anyKey)
		}
		out = append(out, step.Name)
	}
	return out
}

// GeneratedPath is the field of the child's own observed object that the expression reads with a default:
// observed.<id>.?data.?password.orValue(…), or with ? at each step. It is nil for any other expression.
func GeneratedPath(e ast.Expr, id string) []string {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != "orValue" || !e.AsCall().IsMemberFunction() {
		return nil
	}
	p := PathOf(e.AsCall().Target())
	if len(p.Steps) < 2 || p.RootName() != RootObserved || p.Steps[0].Name != id || !p.Steps[0].Optional && !p.Steps[1].Optional {
		return nil // without ?, the expression waits for an object that is never created
	}
	var path []string
	for _, step := range p.Steps[1:] {
		if !step.Literal || step.Asks {
			return nil
		}
		path = append(path, step.Name)
	}
	return path
}

// isObserved reports whether an expression is observed.<id>.
func isObserved(e ast.Expr, id string) bool {
	if e.Kind() != ast.SelectKind || e.AsSelect().IsTestOnly() || e.AsSelect().FieldName() != id {
		return false
	}
	root := e.AsSelect().Operand()
	return root.Kind() == ast.IdentKind && root.AsIdent() == RootObserved
}

// LiteralText is the value of a literal string.
func LiteralText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}

// IsNullLiteral reports whether an expression is null.
func IsNullLiteral(e ast.Expr) bool {
	return e.Kind() == ast.LiteralKind && e.AsLiteral() == types.NullValue
}

// Extent is where a node is written in its expression. CEL knows only one position of a node, that of its operator, so
// the extent is known only for paths, literals and the expression as a whole.
func Extent(x *celenv.Expression, e ast.Expr) (offset int, text string, ok bool) {
	all := x.Text()
	switch p := PathOf(e); {
	case p.RootName() != "" && !asks(p):
		if offset = x.Offset(p.root.ID()); offset < 0 || !strings.HasPrefix(all[offset:], p.RootName()) {
			break
		}
		end := offset + len(p.RootName())
		for range p.Steps {
			length := stepLength(all[end:])
			if length == 0 {
				return 0, "", false
			}
			end += length
		}
		return offset, all[offset:end], true
	case e.Kind() == ast.LiteralKind:
		if offset = x.Offset(e.ID()); offset < 0 {
			break
		}
		if length := len(literal.FindString(all[offset:])); length > 0 {
			return offset, all[offset : offset+length], true
		}
	}
	if e.ID() != x.Root().ID() {
		return 0, "", false
	}
	text = strings.TrimSpace(all)
	return strings.Index(all, text), text, text != ""
}

func asks(p Path) bool { return len(p.Steps) > 0 && p.Steps[len(p.Steps)-1].Asks }

var (
	// step is a field, or an index that is a literal or a name.
	step = regexp.MustCompile("^\\s*(?:\\.\\s*\\??\\s*(?:[A-Za-z_]\\w*|`[^`]*`)|\\[\\s*\\??\\s*(?:\"[^\"\\\\]*\"|'[^'\\\\]*'|-?\\w+)\\s*\\])")
	// literal is a number, a truth value, null, or text without escapes.
	literal = regexp.MustCompile(`^(?:"[^"\\]*"|'[^'\\]*'|-?[0-9][0-9a-zA-Z.]*|true\b|false\b|null\b)`)
)

func stepLength(text string) int { return len(step.FindString(text)) }

// AlwaysReads reports whether an expression has no value without a field of observed.<id>. It is false for a part that
// may not be evaluated.
func AlwaysReads(e ast.Expr, id string) bool {
	switch e.Kind() {
	case ast.SelectKind:
		if e.AsSelect().IsTestOnly() {
			return false
		}
		return isObserved(e.AsSelect().Operand(), id) || AlwaysReads(e.AsSelect().Operand(), id)
	case ast.CallKind:
		if e.AsCall().FunctionName() == operators.Index && isObserved(e.AsCall().Args()[0], id) {
			return true
		}
		return anyAlwaysReads(evaluated(e.AsCall()), id)
	case ast.ListKind:
		return anyAlwaysReads(e.AsList().Elements(), id)
	case ast.ComprehensionKind:
		return AlwaysReads(e.AsComprehension().IterRange(), id)
	default:
		return false
	}
}

func anyAlwaysReads(all []ast.Expr, id string) bool {
	return slices.ContainsFunc(all, func(e ast.Expr) bool { return AlwaysReads(e, id) })
}

// evaluated lists the operands that a call always needs.
func evaluated(call ast.CallExpr) []ast.Expr {
	switch name := call.FunctionName(); {
	case name == operators.Conditional, isStep(name):
		return call.Args()[:1]
	case name == operators.LogicalAnd, name == operators.LogicalOr:
		return nil // one side can do without the other
	case call.IsMemberFunction() && (name == "orValue" || name == "or"):
		return []ast.Expr{call.Target()}
	case call.IsMemberFunction():
		return append([]ast.Expr{call.Target()}, call.Args()...)
	default:
		return call.Args()
	}
}

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
		if unknown.Hint = foreignFunction(name, f.Name); unknown.Hint == "" {
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
	if word := foreignWord(name); word != "" {
		f.WithEdit(f.Position, name, word)
		f.WithHint("write %s", word)
		return
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
	case foreignName(name) != "":
		f.WithHint("%s", foreignName(name))
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
