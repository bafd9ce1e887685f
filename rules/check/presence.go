package check

import (
	"maps"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
)

// MissingRead is a read of a field that may be missing.
type MissingRead struct {
	// Finding is the warning about it.
	Finding *diagnostic.Finding
	// Optional is how to write the read for a field that may be missing.
	Optional string
}

// mayBeMissing warns of a read that takes for granted that an optional field exists.
func (c *checker) mayBeMissing(s flow.Step, f *openapi.Field) {
	if !f.Required && !f.Defaulted && !f.Always && !c.alwaysExists(s) {
		c.warnMissing(s, c.Expr.Source(s.Operand)+".?"+s.Name, "its schema neither requires it nor has a default for it")
	}
}

// parentLabels is the path of the parent's labels in expressions.
const parentLabels = flow.RootParent + ".metadata.labels"

// labelMayBeMissing warns of a read of a parent's label that the selector does not guarantee. If the selector
// guarantees no label at all, mayBeMissing warns of the labels as a whole instead.
func (c *checker) labelMayBeMissing(s flow.Step) {
	if c.Expr.Source(s.Operand) != parentLabels || !c.Parent.Labelled() || c.Parent.Guarantees(s.Name) {
		return
	}
	optional := parentLabels + ".?" + s.Name
	if s.Index != nil {
		optional = parentLabels + "[?" + strconv.Quote(s.Name) + "]"
	}
	c.warnMissing(s, optional, "spec.parent.selector does not ask for this label")
}

// warnMissing warns of a read, once for each path, unless the expression asks whether the path exists. optional is how
// to write the read for a value that may be missing.
func (c *checker) warnMissing(s flow.Step, optional, reason string) {
	path, id := c.Expr.Source(s.Expr), s.Expr.ID()
	if !c.Fails(id) || c.asked[path] || c.warned[path] || c.isDefaulted(path) {
		return
	}
	c.warned[path] = true
	finding := c.Report(id, s.Name, diagnostic.CodeOptionalField, "%s may be missing: %s", path, reason)
	c.out.missing[id] = MissingRead{Finding: finding, Optional: optional}
	ask := "has(" + path + ")"
	if s.Index != nil {
		ask = strconv.Quote(s.Name) + " in " + c.Expr.Source(s.Operand)
	}
	finding.WithHint("write %s, with orValue(…) where there must be a value, ask %s first, or give the child that when", optional, ask)
}

// alwaysExists reports whether a field exists although its schema does not say so: the API server sets it in every
// object, or the rule's selector guarantees it.
func (c *checker) alwaysExists(s flow.Step) bool {
	switch name := s.Name; c.Expr.Source(s.Operand) {
	case flow.RootParent:
		// An object without a spec is rare, and a warning about every read of a spec would help nobody.
		return name == "apiVersion" || name == "kind" || name == "metadata" || name == "spec"
	case flow.RootParent + ".metadata":
		switch name {
		case "name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation":
			return true
		case "labels":
			return c.Parent.Labelled()
		}
	}
	return false
}

// collectAsked adds the paths that exist if the node is true: those of has(path), "key" in path and path.hasValue(),
// and those of a variable that asks for them. A comparison with null does not ask: if the path is missing, the
// comparison itself fails.
func (c *checker) collectAsked(e ast.Expr, asked map[string]bool) {
	switch e.Kind() {
	case ast.CallKind:
		if call := e.AsCall(); call.FunctionName() == "hasValue" && call.IsMemberFunction() {
			c.noteExists(call.Target(), asked)
			return
		}
		if e.AsCall().FunctionName() != operators.In {
			return
		}
		key, of := e.AsCall().Args()[0], c.Expr.Source(e.AsCall().Args()[1])
		if name, ok := flow.LiteralText(key); ok {
			asked[of+"."+name] = true
			asked[of+"["+c.Expr.Source(key)+"]"] = true
		}
	case ast.SelectKind:
		if sel := e.AsSelect(); sel.IsTestOnly() {
			asked[c.Expr.Source(sel.Operand())+"."+sel.FieldName()] = true
		} else if name := flow.WholeVariable(e); name != "" {
			maps.Copy(asked, c.Names.Holds(name))
		}
	case ast.IdentKind:
		if e.AsIdent() == flow.RootFinalizing {
			asked[flow.DeletionTime] = true
		}
	default:
	}
}

// collectDefaulted adds the path in a condition such as size(path.?x.orValue([])) > 0. The condition is false with the
// default, so the path exists if it is true.
func (c *checker) collectDefaulted(e ast.Expr, asked map[string]bool) {
	if c.Expr.TypeOf(e.ID()).Kind() != types.BoolKind {
		return
	}
	var found ast.Expr
	for n := range celenv.All(e) {
		switch {
		case n.Kind() != ast.CallKind || n.AsCall().FunctionName() != "orValue" || !n.AsCall().IsMemberFunction():
		case found != nil && c.Expr.Source(n) != c.Expr.Source(found):
			return // with two paths, either one can make it true
		default:
			found = n
		}
	}
	if found == nil {
		return
	}
	call := found.AsCall()
	if c.path(call.Target()) == "" {
		return
	}
	if val, ok := celenv.Constant(c.Expr, c.Expr.Replaced(e, found, call.Args()[0])); ok && val == types.False {
		c.noteExists(call.Target(), asked)
	}
}

// noteExists adds a path and its prefixes, spelled as reads that do not ask: for parent.?a[?"b"] it adds parent.a,
// parent.a["b"] and parent.a.b.
func (c *checker) noteExists(e ast.Expr, asked map[string]bool) {
	plain := strings.NewReplacer(".?", ".", "[?", "[")
	for _, s := range flow.PathOf(e).Steps {
		of := plain.Replace(c.Expr.Source(s.Operand))
		if s.Index != nil {
			asked[of+"["+c.Expr.Source(s.Index)+"]"] = true
		}
		if s.Literal {
			asked[of+"."+s.Name] = true
		}
	}
}

// isDefaulted reports whether some condition in the expression asks for a path with a default; see collectDefaulted.
func (c *checker) isDefaulted(path string) bool {
	if c.defaulted == nil {
		c.defaulted = map[string]bool{}
		for _, e := range c.Expr.Nodes() {
			if e.Kind() == ast.CallKind {
				c.collectDefaulted(e, c.defaulted)
			}
		}
	}
	return c.defaulted[path]
}

// Truth reports whether a condition is always true or always false, whatever it reads. known is false if neither is
// certain.
func (x *Expression) Truth() (isTrue, known bool) { return truth(x.expr, x.expr.Root()) }

func truth(x *celenv.Expression, e ast.Expr) (isTrue, known bool) {
	if e.Kind() == ast.CallKind {
		args := e.AsCall().Args()
		switch function := e.AsCall().FunctionName(); function {
		case operators.LogicalNot:
			isTrue, known = truth(x, args[0])
			return !isTrue, known
		case operators.LogicalAnd, operators.LogicalOr:
			left, leftKnown := truth(x, args[0])
			right, rightKnown := truth(x, args[1])
			decides := function == operators.LogicalOr
			if leftKnown && left == decides || rightKnown && right == decides {
				return decides, true
			}
			return !decides, leftKnown && rightKnown
		case operators.Conditional:
			yes, yesKnown := truth(x, args[1])
			no, noKnown := truth(x, args[2])
			return yes, yesKnown && noKnown && yes == no
		}
	} else if e.Kind() != ast.LiteralKind {
		return false, false
	}
	val, known := celenv.Constant(x, e)
	b, isBool := val.(types.Bool)
	return bool(b), known && isBool
}

// checkTerms reports terms of && that exclude each other, as in x == "a" && x == "b", and terms of || of which one is
// always true, as in x != "a" || x != "b".
func (c *checker) checkTerms(e ast.Expr, operator string) {
	for _, arg := range e.AsCall().Args() {
		if arg.Kind() == ast.CallKind && arg.AsCall().FunctionName() == operator {
			c.joined[arg.ID()] = true // checked with e
		}
	}
	if c.joined[e.ID()] {
		return
	}
	compares, outcome, hint := operators.Equals, false, "write || for or"
	if operator == operators.LogicalOr {
		compares, outcome, hint = operators.NotEquals, true, "write && for and"
	}
	first, places := map[string]ref.Val{}, map[string]diagnostic.Position{}
	for _, term := range celenv.Terms(e, operator) {
		path, value, ok := c.compared(term, compares)
		if !ok {
			continue
		}
		if old, twice := first[path]; twice && types.Equal(old, value) != types.True {
			f := c.report(term, diagnostic.CodeNeverEqual, "%s is compared with %s before, so all this is always %t", path, literalWords(old), outcome)
			f.WithRelated(places[path], "the comparison before").Hint = hint
			return
		}
		first[path], places[path] = value, c.At(c.Expr.Offset(term.ID()))
	}
}

// compared returns the path and the literal of a comparison between the two.
func (c *checker) compared(e ast.Expr, operator string) (path string, value ref.Val, ok bool) {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operator {
		return "", nil, false
	}
	args := e.AsCall().Args()
	for i, literal := range args {
		if path := c.path(args[1-i]); path != "" && literal.Kind() == ast.LiteralKind {
			return path, literal.AsLiteral(), true
		}
	}
	return "", nil, false
}

// checkParentKind reports a comparison of the parent's kind or apiVersion with another value than that of spec.parent.
func (c *checker) checkParentKind(literal, field ast.Expr) (reported bool) {
	text, ok := flow.LiteralText(literal)
	gvk := c.Parent.GVK
	is := map[string]string{flow.RootParent + ".kind": gvk.Kind, flow.RootParent + ".apiVersion": gvk.GroupVersion().String()}[c.path(field)]
	if !ok || gvk.Kind == "" || is == "" || is == text {
		return false
	}
	c.report(literal, diagnostic.CodeNeverEqual, "%s is never %s: the rule is for %s", c.path(field), strconv.Quote(text), strconv.Quote(is))
	return true
}
