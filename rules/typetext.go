package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules/celenv"
)

// typeWords names a type in a sentence: "an int", "a list".
func typeWords(t *types.Type) string {
	switch t.Kind() {
	case types.IntKind, types.UintKind:
		return "an int"
	case types.DoubleKind:
		return "a double"
	case types.StringKind:
		return "a string"
	case types.BoolKind:
		return "a bool"
	case types.BytesKind:
		return "bytes"
	case types.ListKind:
		return "a list"
	case types.MapKind:
		return "a map"
	case types.StructKind:
		return "an object"
	case types.TimestampKind:
		return "a timestamp"
	case types.DurationKind:
		return "a duration"
	case types.NullTypeKind:
		return "null"
	case types.TypeKind:
		return "a type"
	case types.OpaqueKind:
		if isOptional(t) {
			return "an optional value"
		}
		return "a " + shortName(t.TypeName())
	default:
		return "a value of any type"
	}
}

// shortName is a type's name without the package: URL of kubernetes.URL.
func shortName(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// maxShownFields is how many fields a hint lists, and maxShownPath how long a
// path may be to be named in a message.
const (
	maxShownFields = 8
	maxShownPath   = 60
)

// path is a node as the author wrote it, where it is a path; else empty.
func (t *typing) path(e ast.Expr) string {
	for inner := e; ; {
		switch inner.Kind() {
		case ast.IdentKind:
			if text := t.expr.Source(e); len(text) <= maxShownPath && !strings.HasPrefix(inner.AsIdent(), "@") {
				return text
			}
			return ""
		case ast.SelectKind:
			if inner.AsSelect().IsTestOnly() {
				return ""
			}
			inner = inner.AsSelect().Operand()
		case ast.CallKind:
			switch inner.AsCall().FunctionName() {
			case operators.Index, operators.OptIndex, operators.OptSelect:
				inner = inner.AsCall().Args()[0]
			default:
				return ""
			}
		default:
			return ""
		}
	}
}

// subject names a value and its type: "parent.spec.replicas is an int", or only
// "this is an int".
func (t *typing) subject(e ast.Expr, v typed) string {
	name := t.path(e)
	if name == "" {
		name = "this"
	}
	return name + " is " + typeWords(v.cel())
}

// object names a value within a sentence: "parent.spec.replicas, an int", or only
// "an int".
func (t *typing) object(e ast.Expr, v typed) string {
	if name := t.path(e); name != "" {
		return name + ", " + typeWords(v.cel())
	}
	return typeWords(v.cel())
}

func (t *typing) unknownField(e, operand ast.Expr, name string, s *openapi.Schema, presence bool) {
	in := t.path(operand)
	if in == "" {
		in = "this object"
	}
	f := t.reportName(e.ID(), name, CodeUnknownPath, "unknown field %q in %s", name, in)
	if presence {
		f.Message += ", so has() is always false"
	}
	names := fieldNames(s)
	switch near := didYouMean(name, names); {
	case near != "":
		f.hint("%s", near)
	case len(names) <= maxShownFields:
		f.hint("known there are %s", strings.Join(names, ", "))
	default:
		f.hint("known there are %s and %d more", strings.Join(names[:maxShownFields], ", "), len(names)-maxShownFields)
	}
}

func (t *typing) noFields(e, operand ast.Expr, name string, from typed) {
	f := t.reportName(e.ID(), name, CodeTypes, "%s and has no field %s", t.subject(operand, from), name)
	if from.cel().Kind() == types.ListKind {
		in := t.path(operand)
		f.hint("read it of one item, as in %s[0].%s, or of all, as in %s.map(x, x.%s)", in, name, in, name)
	}
}

func (t *typing) wrongKey(e, operand ast.Expr, typ *types.Type) {
	t.report(e.ID(), CodeTypes, "the keys of %s are no strings: each is %s", cmpPath(t.path(operand), "this map"), typeWords(typ.Parameters()[0]))
}

func cmpPath(path, otherwise string) string {
	if path == "" {
		return otherwise
	}
	return path
}

func (t *typing) wrongIndex(_, operand, index ast.Expr, at typed) {
	from := t.object(index, at)
	t.report(index.ID(), CodeTypes, "%s cannot be an index of %s", from, cmpPath(t.path(operand), "this"))
}

func (t *typing) noItems(e, operand ast.Expr, from typed) {
	t.report(e.ID(), CodeTypes, "%s and has no items", t.subject(operand, from))
}

func (t *typing) notBool(e ast.Expr, v typed, what string) {
	t.report(e.ID(), CodeTypes, "%s, and %s", what, t.subject(e, v)).Hint = boolHint(t.path(e), v)
}

// boolHint is how to ask of a value what an author wants to know who takes it for
// true or false.
func boolHint(path string, v typed) string {
	if path == "" {
		return ""
	}
	switch v.cel().Kind() {
	case types.IntKind, types.DoubleKind:
		return fmt.Sprintf("write %s > 0", path)
	case types.StringKind:
		return fmt.Sprintf(`write %s != ""`, path)
	case types.ListKind, types.MapKind:
		return fmt.Sprintf("write %s.size() > 0", path)
	case types.OpaqueKind:
		if isOptional(v.cel()) && innerType(v.cel()).Kind() == types.BoolKind {
			return fmt.Sprintf("write %s.orValue(false)", path)
		}
	default:
	}
	return ""
}

func (t *typing) differentBranches(e ast.Expr, yes, no typed) {
	t.report(e.ID(), CodeTypes, "what stands on both sides of : must be of one type, and this gives %s or %s", typeWords(yes.cel()), typeWords(no.cel()))
}

func (t *typing) neverEqual(e, left, right ast.Expr, l, r typed) {
	outcome := "false"
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.NotEquals {
		outcome = "true"
	}
	subject, other, s, o := t.order(left, right, l, r)
	t.report(e.ID(), CodeNeverEqual, "%s and is never equal to %s, so this is always %s", t.subject(subject, s), t.object(other, o), outcome).
		Hint = t.conversion(subject, other, s, o)
}

// order puts the side first of which a message says what it is: a path before
// what is computed.
func (t *typing) order(left, right ast.Expr, l, r typed) (subject, other ast.Expr, s, o typed) {
	if t.path(left) == "" && t.path(right) != "" {
		return right, left, r, l
	}
	return left, right, l, r
}

func (t *typing) neverIn(e, item, in ast.Expr, v, element typed) {
	t.report(e.ID(), CodeNeverEqual, "%s and is never in %s, where each is %s", t.subject(item, v), cmpPath(t.path(in), "this"), typeWords(element.cel())).
		Hint = t.conversion(item, in, v, element)
}

// checkEnum reports a literal that a field cannot have, and says whether it did.
func (t *typing) checkEnum(literal, field ast.Expr, v typed) bool {
	if literal.Kind() != ast.LiteralKind || v.schema == nil || len(v.schema.Enum) == 0 || isNullLiteral(literal) {
		return false
	}
	var names []string
	for _, allowed := range v.schema.Enum {
		if types.Equal(celenv.FromJSON(allowed), literal.AsLiteral()) == types.True {
			return false
		}
		names = append(names, fmt.Sprint(allowed))
	}
	slices.Sort(names)
	text := fmt.Sprint(literal.AsLiteral().Value())
	f := t.report(literal.ID(), CodeNeverEqual, "%s is never %q: it is one of %s", cmpPath(t.path(field), "this"), text, strings.Join(names, ", "))
	f.hint("%s", didYouMean(text, names))
	return true
}

// wrongOperand reports a call for which there is no function.
func (t *typing) wrongOperand(e ast.Expr, operands []ast.Expr, given []typed, wrong int) {
	name := e.AsCall().FunctionName()
	symbol, isOperator := operators.FindReverse(name)
	switch {
	case isOperator && len(operands) == 2:
		t.wrongOperator(e, symbol, operands, given)
		return
	case isOperator:
		t.report(e.ID(), CodeTypes, "%s does not take %s", symbol, t.object(operands[0], given[0])).
			Hint = boolHint(t.path(operands[0]), given[0])
		return
	case wrong >= len(operands):
		t.report(e.ID(), CodeTypes, "%s() cannot be called with so many arguments", name)
	case wrong == 0 && e.AsCall().IsMemberFunction():
		t.reportName(e.ID(), name, CodeTypes, "%s and has no %s()", t.subject(operands[0], given[0]), name)
	default:
		t.report(operands[wrong].ID(), CodeTypes, "%s() does not take %s here", name, t.object(operands[wrong], given[wrong]))
	}
	f := t.c.findings[len(t.c.findings)-1]
	switch forms := t.c.env.Forms(name); {
	case isOptional(given[min(wrong, len(given)-1)].cel()):
		f.Hint = "give the optional value a default with orValue(…)"
	case len(forms) > 0 && len(forms) <= maxForms && isName(name):
		f.Hint = "write " + strings.Join(forms, " or ")
	}
}

func (t *typing) wrongOperator(e ast.Expr, symbol string, operands []ast.Expr, given []typed) {
	l, r := operands[0], operands[1]
	subject, other, s, o := t.order(l, r, given[0], given[1])
	if symbol == "+" && s.cel().Kind() == types.StringKind && t.path(other) != "" {
		subject, other, s, o = other, subject, o, s
	}
	hint := t.conversion(subject, other, s, o)
	switch symbol {
	case "&&", "||":
		for i, v := range given {
			if !celenv.Meet(v.cel(), types.BoolType) {
				t.notBool(operands[i], v, "what stands beside "+symbol+" must be true or false")
			}
		}
		return
	case "+":
		t.report(e.ID(), CodeTypes, "%s and cannot be added to %s", t.subject(subject, s), t.object(other, o)).Hint = hint
	case "<", "<=", ">", ">=":
		t.report(e.ID(), CodeTypes, "%s and cannot be compared with %s", t.subject(subject, s), t.object(other, o)).Hint = hint
	default:
		t.report(e.ID(), CodeTypes, "%s does not take %s and %s", symbol, t.object(l, given[0]), t.object(r, given[1])).Hint = hint
	}
}

// conversion says how to make two values go together.
func (t *typing) conversion(a, b ast.Expr, av, bv typed) string {
	if h := t.convert(a, b, av.cel(), bv.cel()); h != "" {
		return h
	}
	return t.convert(b, a, bv.cel(), av.cel())
}

// convert says how to make of a what goes together with b.
func (t *typing) convert(a, b ast.Expr, at, bt *types.Type) string {
	text := t.expr.Source(a)
	if len(text) > maxShownPath {
		text = "…"
	}
	_, literal := literalText(a)
	switch {
	case isOptional(at):
		return fmt.Sprintf("give it a default, as in %s.orValue(…)", text)
	case at.Kind() == types.StringKind && bt.Kind() == types.TimestampKind:
		return fmt.Sprintf("write timestamp(%s)", text)
	case at.Kind() == types.StringKind && bt.Kind() == types.DurationKind:
		return fmt.Sprintf("write duration(%s)", text)
	case literal && b.Kind() != ast.LiteralKind && bt.Kind() != types.StringKind:
		return ""
	}
	if bt.Kind() == types.StringKind {
		switch at.Kind() {
		case types.IntKind, types.DoubleKind, types.BoolKind, types.TimestampKind, types.DurationKind:
			return fmt.Sprintf("write string(%s)", text)
		default:
		}
	}
	return ""
}
