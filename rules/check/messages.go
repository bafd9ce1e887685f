package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/yamltree"
)

// operand is a node with its type.
type operand struct {
	e ast.Expr
	Type
}

const (
	// maxShownFields is how many fields a hint lists.
	maxShownFields = 8
	// maxShownPath is how many bytes a path may have to be named in a message. tooLong replaces a longer node.
	maxShownPath = 60
	tooLong      = "…"
)

// path returns a node as the author wrote it if it is a path, and short enough for a message; else "".
func (c *checker) path(e ast.Expr) string { return pathText(c.Expr, e) }

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

// subject names a value and its type: "parent.spec.replicas is an int", or only "this is an int".
func (c *checker) subject(o operand) string {
	name := c.path(o.e)
	if text := c.Expr.Source(o.e); o.e.Kind() == ast.LiteralKind && len(text) <= maxShownPath {
		name = text
	}
	return cmp.Or(name, "this") + " is " + o.String()
}

// object names a value within a sentence: "parent.spec.replicas, an int", or only "an int".
func (c *checker) object(o operand) string {
	return strings.TrimPrefix(c.path(o.e)+", "+o.String(), ", ")
}

// named names a type with the path of the value: "an int (parent.spec.replicas)".
func (c *checker) named(o operand) string {
	return strings.TrimSuffix(o.String()+" ("+c.path(o.e)+")", " ()")
}

// short returns a node as written, or "…" if that is too long for a message.
func (c *checker) short(e ast.Expr) string {
	if text := c.Expr.Source(e); len(text) <= maxShownPath {
		return text
	}
	return tooLong
}

// advice says what to write in place of a node.
type advice struct {
	hint string
	// node is replaced by what edit makes of its text. edit is nil if the hint does not say exactly what to write.
	node ast.Expr
	edit func(text string) string
}

// give gives a finding the hint, and a fix if the hint is exact. at is the position of an offset in the expression.
func (a advice) give(f *diagnostic.Finding, x *celenv.Expression, at func(offset int) diagnostic.Position) {
	f.Hint = a.hint
	if a.edit == nil {
		return
	}
	if offset, text, ok := flow.Extent(x, a.node); ok {
		f.WithEdit(at(offset), text, a.edit(text))
	}
}

func (c *checker) advise(f *diagnostic.Finding, a advice) { a.give(f, c.Expr, c.At) }

// wrapIn advises to call a function with a node.
func (c *checker) wrapIn(function string, e ast.Expr) advice {
	out := advice{hint: "write " + function + "(" + c.short(e) + ")", node: e}
	if c.short(e) != tooLong {
		out.edit = func(text string) string { return function + "(" + text + ")" }
	}
	return out
}

func (c *checker) writeAsString(e ast.Expr) advice {
	if e.Kind() != ast.LiteralKind {
		return c.wrapIn("string", e)
	}
	return advice{"write " + strconv.Quote(c.short(e)), e, func(text string) string { return c.Quote + text + c.Quote }}
}

// makeBool advises how to turn a value into a condition.
func (c *checker) makeBool(o operand) advice {
	path, after := c.path(o.e), o.boolSuffix()
	out := advice{hint: o.BoolHint(path), node: o.e}
	if path != "" && after != "" {
		out.edit = func(text string) string { return text + strings.ReplaceAll(after, `""`, c.Quote+c.Quote) }
	}
	return out
}

func literalWords(v ref.Val) string {
	if s, ok := v.(types.String); ok {
		return strconv.Quote(string(s))
	}
	return fmt.Sprint(v.Value())
}

func (c *checker) unknownField(s flow.Step, of *openapi.Schema) {
	f := c.Report(s.Expr.ID(), s.Name, diagnostic.CodeUnknownPath, "unknown field %q in %s", s.Name, cmp.Or(c.path(s.Operand), "this object"))
	if s.Asks {
		f.Message += ", so has() is always false"
	}
	names := FieldNames(of)
	switch f.Suggest(s.Name, names); {
	case f.Hint != "":
	case len(names) <= maxShownFields:
		f.WithHint("known fields: %s", strings.Join(names, ", "))
	default:
		f.WithHint("known fields: %s and %d more", strings.Join(names[:maxShownFields], ", "), len(names)-maxShownFields)
	}
}

func (c *checker) noFields(s flow.Step, of operand) {
	f := c.Report(s.Expr.ID(), s.Name, diagnostic.CodeTypes, "%s and has no field %s", c.subject(of), s.Name)
	switch in := c.path(of.e); {
	case in != "" && (s.Name == "length" || s.Name == "size" || s.Name == "count"):
		f.WithHint("write size(%s)", in)
	case of.Kind() == types.ListKind:
		f.WithHint("read it of one item, as in %s[0].%s, or of all, as in %s.map(x, x.%s)", in, s.Name, in, s.Name)
	}
}

func (c *checker) wrongIndex(from, at operand) {
	f := c.report(at.e, diagnostic.CodeTypes, "%s and cannot be an index of %s, %s", c.subject(at), cmp.Or(c.path(from.e), "this"), from)
	switch {
	case from.Kind() != types.ListKind && hasTextForm(at.Type):
		c.advise(f, c.writeAsString(at.e))
	case from.Kind() == types.ListKind && at.Kind() == types.StringKind && c.hasName(from.Type):
		f.WithHint("write %s.filter(x, x.name == %s)[?0] for the item with that name", cmp.Or(c.path(from.e), "list"), cmp.Or(c.short(at.e), "name"))
	}
}

// hasName reports whether the items of a list have a field name.
func (c *checker) hasName(list Type) bool {
	items := c.Table.Element(list).schema
	if items == nil {
		return false
	}
	_, ok := items.At("name")
	return ok
}

// mustBeBool reports a condition that is not a bool. place says in words where it stands; others are the operands
// beside it.
func (c *checker) mustBeBool(o operand, place string, others ...ast.Expr) {
	if Meet(o.CEL(), types.BoolType) {
		return
	}
	if slices.ContainsFunc(others, isAccumulator) {
		place = "the condition of a loop" // such as filter() or exists()
	}
	f := c.report(o.e, diagnostic.CodeTypes, "%s must be true or false, and %s", place, c.subject(o))
	switch c.advise(f, c.makeBool(o)); {
	case f.Hint != "":
	case strings.HasSuffix(place, "||"):
		f.Hint = defaultHint
	case strings.HasSuffix(place, "&&"):
		f.Hint = "write condition ? value : other"
	}
}

func (c *checker) differentBranches(e ast.Expr, yes, no operand) {
	f := c.report(e, diagnostic.CodeTypes, "both sides of : must have the same type, and this gives %s or %s", yes, no)
	if flow.IsNullLiteral(yes.e) || flow.IsNullLiteral(no.e) {
		f.WithHint("write optionalIf(condition, value) for a value that may be left out, or dyn(null)")
		return
	}
	if yes.Kind() == types.BytesKind && no.Kind() == types.StringKind || yes.Kind() == types.StringKind && no.Kind() == types.BytesKind {
		f.WithHint("write bytes(…) around the text, or string(…) around the bytes")
		return
	}
	c.advise(f, c.textHint(yes, no))
}

func (c *checker) neverEqual(e ast.Expr, l, r operand) {
	isUnequal := e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.NotEquals
	s, o := c.order(l, r)
	f := c.report(e, diagnostic.CodeNeverEqual, "%s and is never equal to %s, so this is always %t", c.subject(s), c.object(o), isUnequal)
	c.advise(f, c.conversion(s, o))
}

// order decides which side is the subject of a message: a path goes before a computed value.
func (c *checker) order(l, r operand) (subject, object operand) {
	if c.path(l.e) == "" && c.path(r.e) != "" {
		return r, l
	}
	return l, r
}

// neverIn reports an item that a list or a map never contains. in has the type of the items.
func (c *checker) neverIn(e ast.Expr, item, in operand) {
	f := c.report(e, diagnostic.CodeNeverEqual, "%s and is never in %s, where each is %s", c.subject(item), cmp.Or(c.path(in.e), "this"), in)
	a := c.conversion(item, in)
	if a.node != item.e {
		a.edit = nil // the list is not what has to be converted
	}
	c.advise(f, a)
}

func (c *checker) checkEnum(literal, field ast.Expr, v Type) (reported bool) {
	if c.checkParentKind(literal, field) {
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
	f := c.report(literal, diagnostic.CodeNeverEqual, "%s is never %s: it is one of %s", cmp.Or(c.path(field), "this"), literalWords(literal.AsLiteral()), strings.Join(names, ", "))
	if text, ok := flow.LiteralText(literal); ok {
		f.Suggest(text, names)
	}
	return true
}

// wrongOperand reports a call whose operands fit no overload of the function. wrong is as call returns it.
func (c *checker) wrongOperand(e ast.Expr, operands []operand, wrong int) {
	name, env := e.AsCall().FunctionName(), c.Expr.Env()
	symbol, isOperator := operators.FindReverse(name)
	at := operand{e: e}
	if len(operands) > 0 {
		at = operands[min(wrong, len(operands)-1)]
	}
	var f *diagnostic.Finding
	switch {
	case isOperator && len(operands) == 2:
		c.wrongOperator(e, symbol, operands[0], operands[1])
		return
	case isOperator:
		f := c.report(e, diagnostic.CodeTypes, "%s does not take %s", symbol, c.object(at))
		if name == operators.LogicalNot {
			f.Hint = at.BoolHint(c.path(at.e))
		}
		return
	case name == "orValue" && wrong == 1:
		c.wrongDefault(operands[0], at)
		return
	case len(env.Overloads(name)) == 0: // a macro that was not expanded
		c.report(e, diagnostic.CodeTypes, "%s() cannot be called like this", name).Hint = macroHint(name)
		return
	case wrong >= len(operands):
		f = c.report(e, diagnostic.CodeTypes, "%s() cannot be called with so many arguments", name)
	case wrong == 0 && e.AsCall().IsMemberFunction():
		f = c.Report(e.ID(), name, diagnostic.CodeTypes, "%s and has no %s()", c.subject(at), name)
	default:
		f = c.report(at.e, diagnostic.CodeTypes, "%s, which %s() does not take here", c.subject(at), name)
	}
	switch {
	case name == "find" && len(operands) > 0 && operands[0].Kind() == types.ListKind:
		f.Hint = "write list.filter(x, …)[?0], with a name for the items"
	case at.Kind() == types.BytesKind && name == "base64.decode":
		f.Hint = "it is decoded already: " + c.writeAsString(at.e).hint + " for the text"
	case at.Kind() == types.BytesKind:
		c.advise(f, c.writeAsString(at.e))
	case IsOptional(at.CEL()):
		f.Hint = "give the optional value a default with orValue(…)"
	case name == "contains" && at.Kind() == types.ListKind && wrong == 0:
		f.WithHint("write %s in %s", cmp.Or(c.short(e.AsCall().Args()[0]), "item"), cmp.Or(c.path(at.e), "the list"))
	default:
		f.Hint = env.Usage(name)
	}
}

// checkIncludes reports includes() of a string, which compares it as a whole.
func (c *checker) checkIncludes(e ast.Expr, operands []operand) {
	if e.AsCall().FunctionName() == "includes" && e.AsCall().IsMemberFunction() && operands[0].Kind() == types.StringKind {
		c.Report(e.ID(), "includes", diagnostic.CodeTypes, "%s, and includes() compares it as a whole", c.subject(operands[0])).
			WithHint("write contains(…) for a part of a string")
	}
}

// amount is the path of a field that has a quantity by its name, and quantityText a quantity with a unit.
var (
	amount       = regexp.MustCompile(`\.(memory|cpu|storage)$`)
	quantityText = regexp.MustCompile(`^\d+(\.\d+)?(m|k|[KMGTPE]i?)$`)
)

// checkQuantities reports text that is compared with a quantity, such as 1Gi: text is compared by its letters.
func (c *checker) checkQuantities(e ast.Expr, operands []operand) {
	symbol, _ := operators.FindReverse(e.AsCall().FunctionName())
	way := map[string]string{"<": "isLessThan", "<=": "isLessThan", ">": "isGreaterThan", ">=": "isGreaterThan"}[symbol]
	if way == "" || len(operands) != 2 {
		return
	}
	for i, o := range operands {
		text, ok := flow.LiteralText(o.e)
		other := operands[1-i]
		if !ok || !quantityText.MatchString(text) {
			continue
		}
		f := c.report(e, diagnostic.CodeTypes, "%q is text here, which is compared letter by letter, so that 9Mi is more than 1Gi", text)
		if path := c.path(other.e); path != "" && i == 1 {
			f.WithHint("write quantity(%s).%s(quantity('%s'))", path, way, text)
		} else {
			f.WithHint("write quantity(a).isGreaterThan(quantity(b)), or isLessThan")
		}
		return
	}
}

// wrongDefault reports an orValue() whose default has another type than the value.
func (c *checker) wrongDefault(value, given operand) {
	wanted := value.Inner()
	f := c.report(given.e, diagnostic.CodeTypes, "%s is %s where it exists, so orValue() needs %s, and %s", cmp.Or(c.path(value.e), "the value"), wanted, wanted, c.subject(given))
	c.advise(f, c.defaultAdvice(operand{given.e, given.Inner()}, wanted))
}

// defaultAdvice says how to write a default of the wanted type.
func (c *checker) defaultAdvice(given operand, wanted Type) advice {
	switch wanted.Kind() {
	case types.BytesKind:
		if text, isLiteral := flow.LiteralText(given.e); given.Kind() == types.StringKind && (!isLiteral || text != "") {
			return c.wrapIn("bytes", given.e)
		}
		return advice{hint: "write bytes(…), or b'' for none"}
	case types.TimestampKind:
		return advice{hint: "write timestamp(…), as in timestamp('2026-01-31T12:00:00Z')"}
	case types.DurationKind:
		return advice{hint: "write duration(…), as in duration('1h30m')"}
	case types.StringKind:
		return c.writeAsString(given.e)
	case types.ListKind:
		return advice{hint: "write a list, as in [], which is an empty one"}
	case types.MapKind, types.StructKind:
		return advice{hint: "write a map, as in {}, which is an empty one"}
	case types.BoolKind:
		return advice{hint: "write true or false"}
	case types.IntKind, types.DoubleKind:
		if a := c.convert(given, wanted); a.hint != "" {
			return a
		}
		return advice{hint: "write a number, as in 1"}
	default:
		return advice{}
	}
}

func (c *checker) wrongOperator(e ast.Expr, symbol string, l, r operand) {
	s, o := c.order(l, r)
	switch symbol {
	case "in":
		c.report(r.e, diagnostic.CodeTypes, "%s, and in needs a list or a map on its right", c.subject(r))
	case "&&", "||":
		c.mustBeBool(l, "both sides of "+symbol, r.e)
		c.mustBeBool(r, "both sides of "+symbol, l.e)
	case "+":
		if s.Kind() == types.StringKind && c.path(o.e) != "" {
			s, o = o, s
		}
		f := c.report(e, diagnostic.CodeTypes, "%s and cannot be added to %s", c.subject(s), c.object(o))
		c.advise(f, c.conversion(s, o))
	case "<", "<=", ">", ">=":
		f := c.report(e, diagnostic.CodeTypes, "%s and cannot be compared with %s", c.subject(s), c.object(o))
		c.advise(f, c.conversion(s, o))
	default:
		f := c.report(e, diagnostic.CodeTypes, "%s does not take %s and %s", symbol, c.named(l), c.named(r))
		if symbol == "%" && l.Kind() == types.StringKind {
			f.WithHint("write text.format([%s])", cmp.Or(c.short(r.e), "value"))
			return
		}
		for _, pair := range [][2]operand{{l, r}, {r, l}} {
			from, other := pair[0], pair[1]
			if a := c.convert(from, other.Type); a.hint != "" {
				c.advise(f, a)
			} else if path := c.path(from.e); amount.MatchString(path) {
				f.WithHint("write quantity(%s).asInteger() for the number of an amount such as 1Gi", path)
			} else if from.Kind() == types.StringKind && isNumber(other.CEL()) {
				c.advise(f, c.wrapIn(other.CEL().TypeName(), from.e))
			}
		}
	}
}

// conversion says how to convert one of two values so that they have the same type.
func (c *checker) conversion(a, b operand) advice {
	for _, found := range []advice{c.convert(a, b.Type), c.convert(b, a.Type)} {
		if found.hint != "" {
			return found
		}
	}
	return c.textHint(b, a)
}

// textHint says how to convert one of two values to text if the other is text.
func (c *checker) textHint(a, b operand) advice {
	switch {
	case a.Kind() == types.StringKind && hasTextForm(b.Type):
		return c.writeAsString(b.e)
	case b.Kind() == types.StringKind && hasTextForm(a.Type):
		return c.writeAsString(a.e)
	}
	return advice{}
}

// convert says how to convert a value to another type, if there is one good way.
func (c *checker) convert(a operand, other Type) advice {
	literal, isLiteral := flow.LiteralText(a.e)
	switch {
	case IsOptional(a.CEL()):
		return advice{hint: "give it a default, as in " + c.short(a.e) + ".orValue(…)"}
	case a.Kind() != types.StringKind:
		return advice{}
	case other.Kind() == types.DurationKind:
		return c.wrapIn("duration", a.e)
	case other.Kind() == types.TimestampKind:
		if _, err := time.ParseDuration(literal); isLiteral && err == nil {
			return c.wrapIn("duration", a.e)
		}
		return c.wrapIn("timestamp", a.e)
	}
	var plain any
	if err := json.Unmarshal([]byte(literal), &plain); err != nil || !isLiteral {
		return advice{}
	}
	_, number := plain.(float64)
	_, truth := plain.(bool)
	if number && isNumber(other.CEL()) || truth && other.Kind() == types.BoolKind {
		return advice{"write " + literal + " without quotes", a.e, func(string) string { return literal }}
	}
	return advice{}
}

// QuoteIn returns a quote for text in the expressions of a scalar that does not end the scalar in YAML.
func QuoteIn(n *yamltree.Node) string {
	if strings.HasPrefix(n.Literal(), "'") {
		return `"`
	}
	return "'"
}
