package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
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
func (t *typing) path(e ast.Expr) string { return pathText(t.expr, e) }

// path is the whole expression, where it is a path.
func (x *checkedExpression) path() string { return pathText(x.expr, x.expr.Root()) }

func pathText(x *celenv.Expression, e ast.Expr) string {
	p := flow.PathOf(e)
	name := p.RootName()
	if name == "" || strings.HasPrefix(name, "@") || slices.ContainsFunc(p.Steps, func(s flow.Step) bool { return s.Asks }) {
		return ""
	}
	if text := x.Source(e); len(text) <= maxShownPath {
		return text
	}
	return ""
}

// subject names a value and its type: "parent.spec.replicas is an int", or only
// "this is an int".
func (t *typing) subject(e ast.Expr, v typed) string {
	return t.called(e) + " is " + typeWords(v.cel())
}

// called is what a sentence calls a value: its path, or the literal, or this.
func (t *typing) called(e ast.Expr) string {
	if name := t.path(e); name != "" {
		return name
	}
	if e.Kind() == ast.LiteralKind {
		if text := t.expr.Source(e); len(text) <= maxShownPath {
			return text
		}
	}
	return "this"
}

// object names a value within a sentence: "parent.spec.replicas, an int", or only
// "an int".
func (t *typing) object(e ast.Expr, v typed) string {
	if name := t.path(e); name != "" {
		return name + ", " + typeWords(v.cel())
	}
	return typeWords(v.cel())
}

// named is a type with the path of the value: "an int (parent.spec.replicas)".
func (t *typing) named(e ast.Expr, v typed) string {
	if name := t.path(e); name != "" {
		return typeWords(v.cel()) + " (" + name + ")"
	}
	return typeWords(v.cel())
}

func (t *typing) unknownField(e, operand ast.Expr, name string, s *openapi.Schema, presence bool) {
	in := t.path(operand)
	if in == "" {
		in = "this object"
	}
	f := t.reportName(e.ID(), name, diagnostic.CodeUnknownPath, "unknown field %q in %s", name, in)
	if presence {
		f.Message += ", so has() is always false"
	}
	names := fieldNames(s)
	switch near := diagnostic.DidYouMean(name, names); {
	case near != "":
		f.WithHint("%s", near)
	case len(names) <= maxShownFields:
		f.WithHint("known fields: %s", strings.Join(names, ", "))
	default:
		f.WithHint("known fields: %s and %d more", strings.Join(names[:maxShownFields], ", "), len(names)-maxShownFields)
	}
}

func (t *typing) noFields(e, operand ast.Expr, name string, from typed) {
	f := t.reportName(e.ID(), name, diagnostic.CodeTypes, "%s and has no field %s", t.subject(operand, from), name)
	if from.cel().Kind() == types.ListKind {
		in := t.path(operand)
		f.WithHint("read it of one item, as in %s[0].%s, or of all, as in %s.map(x, x.%s)", in, name, in, name)
	}
}

func (t *typing) wrongKey(e, operand ast.Expr, typ *types.Type) {
	t.report(e.ID(), diagnostic.CodeTypes, "the keys of %s are no strings: each is %s", cmpPath(t.path(operand), "this map"), typeWords(typ.Parameters()[0]))
}

func cmpPath(path, otherwise string) string {
	if path == "" {
		return otherwise
	}
	return path
}

func (t *typing) wrongIndex(operand, index ast.Expr, from, at typed) {
	f := t.report(index.ID(), diagnostic.CodeTypes, "%s and cannot be an index of %s, %s", t.subject(index, at), cmpPath(t.path(operand), "this"), typeWords(from.cel()))
	if from.cel().Kind() != types.ListKind && isScalar(at.cel()) {
		f.WithHint("write %s", t.asString(index))
	}
}

func (t *typing) noItems(e, operand ast.Expr, from typed) {
	t.report(e.ID(), diagnostic.CodeTypes, "%s and has no items", t.subject(operand, from))
}

func (t *typing) notBool(e ast.Expr, v typed, what string) {
	t.report(e.ID(), diagnostic.CodeTypes, "%s, and %s", what, t.subject(e, v)).Hint = boolHint(t.path(e), v)
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
		if innerType(v.cel()).Kind() == types.BoolKind {
			return fmt.Sprintf("write %s.orValue(false)", path)
		}
		return optionalHint(path, v)
	default:
	}
	return ""
}

// loopCondition is what is said of the condition of filter(), exists() and the
// like.
const loopCondition = "the condition of a loop must be true or false"

// optionalHint is how to get at an optional's value.
func optionalHint(path string, v typed) string {
	if path == "" || !isOptional(v.cel()) {
		return ""
	}
	return fmt.Sprintf("give it a default, as in %s.orValue(…)", path)
}

func (t *typing) differentBranches(e ast.Expr, yes, no typed) {
	f := t.report(e.ID(), diagnostic.CodeTypes, "both sides of : must have the same type, and this gives %s or %s", typeWords(yes.cel()), typeWords(no.cel()))
	branches := e.AsCall().Args()[1:]
	switch {
	case yes.cel().Kind() == types.StringKind && isScalar(no.cel()):
		f.WithHint("write %s", t.asString(branches[1]))
	case no.cel().Kind() == types.StringKind && isScalar(yes.cel()):
		f.WithHint("write %s", t.asString(branches[0]))
	}
}

func (t *typing) neverEqual(e, left, right ast.Expr, l, r typed) {
	outcome := "false"
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.NotEquals {
		outcome = "true"
	}
	subject, other, s, o := t.order(left, right, l, r)
	t.report(e.ID(), diagnostic.CodeNeverEqual, "%s and is never equal to %s, so this is always %s", t.subject(subject, s), t.object(other, o), outcome).
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
	t.report(e.ID(), diagnostic.CodeNeverEqual, "%s and is never in %s, where each is %s", t.subject(item, v), cmpPath(t.path(in), "this"), typeWords(element.cel())).
		Hint = t.conversion(item, in, v, element)
}

// checkEnum reports a literal that a field cannot have, and says whether it did.
func (t *typing) checkEnum(literal, field ast.Expr, v typed) bool {
	if t.checkParentKind(literal, field) {
		return true
	}
	if literal.Kind() != ast.LiteralKind || v.schema == nil || len(v.schema.Enum) == 0 || flow.IsNullLiteral(literal) || inEnum(v.schema, literal.AsLiteral()) {
		return false
	}
	names := make([]string, len(v.schema.Enum))
	for i, allowed := range v.schema.Enum {
		names[i] = fmt.Sprint(allowed)
	}
	slices.Sort(names)
	for field.Kind() == ast.CallKind && field.AsCall().IsMemberFunction() {
		field = field.AsCall().Target() // path.orValue(…)
	}
	f := t.report(literal.ID(), diagnostic.CodeNeverEqual, "%s is never %s: it is one of %s", cmpPath(t.path(field), "this"), literalWords(literal.AsLiteral()), strings.Join(names, ", "))
	if text, ok := flow.LiteralText(literal); ok {
		f.WithHint("%s", diagnostic.DidYouMean(text, names))
	}
	return true
}

// wrongOperand reports a call for which there is no function.
func (t *typing) wrongOperand(e ast.Expr, operands []ast.Expr, given []typed, wrong int) {
	name := e.AsCall().FunctionName()
	symbol, isOperator := operators.FindReverse(name)
	var f *diagnostic.Finding
	switch {
	case isOperator && len(operands) == 2:
		t.wrongOperator(e, symbol, operands, given)
		return
	case name == "orValue" && wrong == 1:
		t.wrongDefault(operands, given)
		return
	case isOperator:
		f := t.report(e.ID(), diagnostic.CodeTypes, "%s does not take %s", symbol, t.object(operands[0], given[0]))
		if name == operators.LogicalNot {
			f.Hint = boolHint(t.path(operands[0]), given[0])
		}
		return
	case wrong >= len(operands):
		f = t.report(e.ID(), diagnostic.CodeTypes, "%s() cannot be called with so many arguments", name)
	case wrong == 0 && e.AsCall().IsMemberFunction():
		f = t.reportName(e.ID(), name, diagnostic.CodeTypes, "%s and has no %s()", t.subject(operands[0], given[0]), name)
	default:
		f = t.report(operands[wrong].ID(), diagnostic.CodeTypes, "%s, which %s() does not take here", t.subject(operands[wrong], given[wrong]), name)
	}
	at := min(wrong, len(given)-1)
	switch forms := t.c.env.Signatures(name); {
	case given[at].cel().Kind() == types.BytesKind && name == "base64.decode":
		f.Hint = "it is decoded already: write " + t.asString(operands[at]) + " for the text"
	case given[at].cel().Kind() == types.BytesKind:
		f.Hint = "write " + t.asString(operands[at])
	case isOptional(given[at].cel()):
		f.Hint = "give the optional value a default with orValue(…)"
	case len(forms) > 0 && len(forms) <= maxForms && isName(name):
		f.Hint = "write " + strings.Join(forms, " or ")
	}
}

// wrongDefault reports a default that is of another type than the value that it stands for.
func (t *typing) wrongDefault(operands []ast.Expr, given []typed) {
	wanted := innerType(given[0].cel())
	f := t.report(operands[1].ID(), diagnostic.CodeTypes, "%s is %s where it exists, so orValue() needs %s, and %s",
		cmpPath(t.path(operands[0]), "the value"), typeWords(wanted), typeWords(wanted), t.subject(operands[1], given[1]))
	f.Hint = t.defaultHint(operands[1], innerType(given[1].cel()), wanted)
}

// defaultHint is a default of the type that is wanted.
func (t *typing) defaultHint(e ast.Expr, given, wanted *types.Type) string {
	isText := given.Kind() == types.StringKind
	text, isLiteral := flow.LiteralText(e)
	switch wanted.Kind() {
	case types.BytesKind:
		if isText && (!isLiteral || text != "") {
			return "write bytes(" + t.short(e) + ")"
		}
		return "write bytes(…), or b'' for none"
	case types.TimestampKind:
		return "write timestamp(…), as in timestamp('2026-01-31T12:00:00Z')"
	case types.DurationKind:
		return "write duration(…), as in duration('1h30m')"
	case types.StringKind:
		return "write " + t.asString(e)
	case types.ListKind:
		return "write a list, as in [], which is an empty one"
	case types.MapKind, types.StructKind:
		return "write a map, as in {}, which is an empty one"
	case types.BoolKind:
		return "write true or false"
	case types.IntKind, types.DoubleKind:
		if hint := t.convert(e, given, wanted); hint != "" {
			return hint
		}
		return "write a number, as in 1"
	default:
		return ""
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
	case "in":
		t.report(r.ID(), diagnostic.CodeTypes, "%s, and in needs a list or a map on its right", t.subject(r, given[1]))
		return
	case "&&", "||":
		for i, v := range given {
			if !celenv.Meet(v.cel(), types.BoolType) {
				what := "both sides of " + symbol + " must be true or false"
				if isAccumulator(operands[1-i]) {
					what = loopCondition
				}
				t.notBool(operands[i], v, what)
			}
		}
		return
	case "+":
		t.report(e.ID(), diagnostic.CodeTypes, "%s and cannot be added to %s", t.subject(subject, s), t.object(other, o)).Hint = hint
	case "<", "<=", ">", ">=":
		t.report(e.ID(), diagnostic.CodeTypes, "%s and cannot be compared with %s", t.subject(subject, s), t.object(other, o)).Hint = hint
	default:
		f := t.report(e.ID(), diagnostic.CodeTypes, "%s does not take %s and %s", symbol, t.named(l, given[0]), t.named(r, given[1]))
		for i, v := range given {
			if k := given[1-i].cel().Kind(); v.cel().Kind() == types.StringKind && (k == types.IntKind || k == types.DoubleKind) {
				f.WithHint("write %s(%s)", given[1-i].cel().TypeName(), t.short(operands[i]))
			}
		}
	}
}

// conversion says how to make two values go together.
func (t *typing) conversion(a, b ast.Expr, av, bv typed) string {
	for range 2 {
		if hint := t.convert(a, av.cel(), bv.cel()); hint != "" {
			return hint
		}
		a, b, av, bv = b, a, bv, av
	}
	at, bt := av.cel(), bv.cel()
	switch {
	case bt.Kind() == types.StringKind && isScalar(at):
		return "write " + t.asString(a)
	case at.Kind() == types.StringKind && isScalar(bt):
		return "write " + t.asString(b)
	}
	return ""
}

// convert says how to make a of one type what goes together with the other, where
// there is one good way.
func (t *typing) convert(a ast.Expr, at, other *types.Type) string {
	literal, isLiteral := flow.LiteralText(a)
	switch {
	case isOptional(at):
		return fmt.Sprintf("give it a default, as in %s.orValue(…)", t.short(a))
	case at.Kind() != types.StringKind:
		return ""
	case other.Kind() == types.TimestampKind:
		if _, err := time.ParseDuration(literal); isLiteral && err == nil {
			return fmt.Sprintf("write duration(%s)", t.short(a))
		}
		return fmt.Sprintf("write timestamp(%s)", t.short(a))
	case other.Kind() == types.DurationKind:
		return fmt.Sprintf("write duration(%s)", t.short(a))
	case !isLiteral:
		return ""
	}
	var plain any
	if err := json.Unmarshal([]byte(literal), &plain); err != nil {
		return ""
	}
	switch plain.(type) {
	case float64:
		if other.Kind() == types.IntKind || other.Kind() == types.DoubleKind {
			return "write " + literal + " without quotes"
		}
	case bool:
		if other.Kind() == types.BoolKind {
			return "write " + literal + " without quotes"
		}
	}
	return ""
}

// short is a node as written, where it is not long.
func (t *typing) short(e ast.Expr) string {
	if text := t.expr.Source(e); len(text) <= maxShownPath {
		return text
	}
	return "…"
}

func (t *typing) asString(e ast.Expr) string {
	if e.Kind() == ast.LiteralKind {
		return strconv.Quote(t.short(e))
	}
	return "string(" + t.short(e) + ")"
}

func isScalar(typ *types.Type) bool {
	switch typ.Kind() {
	case types.IntKind, types.DoubleKind, types.BoolKind, types.TimestampKind, types.DurationKind, types.BytesKind:
		return true
	default:
		return false
	}
}

// literalWords is a literal as an author writes it.
func literalWords(v ref.Val) string {
	if s, ok := v.(types.String); ok {
		return strconv.Quote(string(s))
	}
	return fmt.Sprint(v.Value())
}
