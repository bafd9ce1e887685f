package check

import (
	"encoding/base64"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// result compares the value of a scalar with expressions with the schema of the field.
func (t *TemplateCheck) result(n *yamltree.Node, s *openapi.Schema, at *fieldPath) {
	scalar, ok := t.Compiled(n)
	if !ok {
		return
	}
	if scalar.Whole == nil {
		t.text(n, s, at)
		return
	}
	r := &resultCheck{TemplateCheck: t, n: n, Scalar: scalar, x: scalar.Whole}
	r.check(r.x.Parsed().Root(), s, at)
	scalar.GoesInto(s)
}

// text compares text around expressions, which is always a string.
func (t *TemplateCheck) text(n *yamltree.Node, s *openapi.Schema, at *fieldPath) {
	if !s.IsBytes() && (s.Type == openapi.String || s.Type == openapi.IntOrString || s.Type == openapi.Any) {
		return
	}
	finding := t.report(n, diagnostic.CodeFieldResult, "%s must be %s, and text around an expression makes a string", at, Wants(s))
	text, _ := n.Text()
	if parts, err := yamltree.Scan(text); err == nil {
		if i := slices.IndexFunc(parts, func(p yamltree.Part) bool { return !p.Expr }); i >= 0 {
			finding.Position, finding.Length = t.source.Within(n, parts[i].Offset), t.source.Span(n, parts[i].Offset, len(parts[i].Text))
		}
	}
	blanks := strings.TrimSpace(text)
	switch {
	case strings.HasPrefix(blanks, "${") && strings.HasSuffix(blanks, "}") && strings.Count(text, "${") == 1:
		finding.WithHint("leave out the blanks around the expression")
		if literal := n.Literal(); literal != text { // in quotes
			finding.WithEdit(t.At(n), literal, literal[:1]+blanks+literal[:1])
		}
	case s.IsBytes():
		finding.WithHint("%s", bytesHint("write one expression with bytes(…)", at))
	}
}

// bytesHint adds the alternatives to a hint that names bytes(…), for a text in place of bytes.
func bytesHint(hint string, at *fieldPath) string {
	if !strings.Contains(hint, "bytes(") {
		return hint
	}
	hint += "; where it is base64 already, base64.decode(…)"
	if strings.HasPrefix(at.String(), "Secret.data") {
		return "write it as it is in stringData, or " + strings.TrimPrefix(hint, "write ")
	}
	return hint
}

// resultCheck compares the value of one whole expression with a schema.
type resultCheck struct {
	*TemplateCheck
	Scalar
	n *yamltree.Node
	x *Expression
}

// check descends into the maps and lists that the expression writes out, and into both sides of a condition. Of
// everything else it compares the type.
func (r *resultCheck) check(e ast.Expr, s *openapi.Schema, at *fieldPath) {
	if s == nil || s.Type == openapi.Any {
		return
	}
	switch e.Kind() {
	case ast.CallKind:
		if call := e.AsCall(); call.FunctionName() == operators.Conditional {
			r.check(call.Args()[1], s, at)
			r.check(call.Args()[2], s, at)
			return
		}
	case ast.LiteralKind:
		if r.literal(e, s, at) {
			return
		}
	case ast.ListKind:
		if s.Type == openapi.List {
			for i, item := range e.AsList().Elements() {
				r.check(item, s.Items, at.item(i, s))
			}
			return
		}
	case ast.MapKind:
		if s.Type == openapi.Map || s.Type == openapi.Object {
			r.entries(e, s, at)
			return
		}
	case ast.ComprehensionKind:
		if item := Mapped(e.AsComprehension()); item != nil && s.Type == openapi.List {
			r.check(item, s.Items, at.to("[]", s))
			return
		}
	default:
	}
	if m := r.Table.Misfit(r.x.TypeAt(e), s); m != nil {
		if m.Field != "" {
			r.noFieldOf(e, m.Field, s, at)
			return
		}
		f := r.reportAt(r.place(e), diagnostic.CodeFieldResult, "%s must be %s, and this gives %s", at, m.Want, m.Got)
		a := r.advice(e, s, m)
		a.hint = bytesHint(a.hint, at)
		a.give(f, r.x.Parsed(), func(offset int) diagnostic.Position { return r.Reporter.source.Within(r.n, r.Offset+offset) })
		return
	}
	if read, ok := r.x.MissingRead(e); ok && e.Kind() == ast.SelectKind && e.ID() == r.x.Parsed().Root().ID() {
		// With an optional value, the field is left out where the value does not exist.
		read.Finding.WithEdit(read.Finding.Position, "", "?")
	}
}

// advice says how to make a part of the expression fit.
func (r *resultCheck) advice(e ast.Expr, s *openapi.Schema, m *Misfit) advice {
	if s.IsBytes() && e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "base64.encode" {
		return advice{hint: "leave out base64.encode(…): bytes are written as base64"}
	}
	if read, ok := r.x.MissingRead(e); ok && m.Convert != "" {
		// The warning about the read and this finding would give different hints, so one hint replaces both.
		r.Withdraw(read.Finding)
		return advice{hint: m.HintFor(read.Optional+".orValue(…)", false)}
	}
	if e.Kind() != ast.LiteralKind {
		source, compound := r.source(e), IsOperator(e)
		out := advice{hint: m.HintFor(source, compound), node: e}
		quote := QuoteIn(r.n)
		exact := *m
		exact.Convert = strings.NewReplacer(`""`, quote+quote, "'true'", quote+"true"+quote).Replace(m.Convert)
		if m.isExact() && source != tooLong {
			out.edit = func(text string) string { return strings.TrimPrefix(exact.HintFor(text, compound), "write ") }
		}
		return out
	}
	text, isText := flow.LiteralText(e)
	switch {
	case s.IsBytes():
		return advice{hint: m.HintFor("…", false)} // it may be a password
	case !isText && s.Type == openapi.String:
		return advice{"write '" + r.x.Parsed().Source(e) + "'", e, func(text string) string { return QuoteIn(r.n) + text + QuoteIn(r.n) }}
	case isText && unquoteHint(text, s) == withoutQuotes:
		return advice{"write " + text, e, func(string) string { return text }}
	}
	return advice{}
}

// literal compares a literal with its schema. It returns false if the type of the literal must be compared instead.
func (r *resultCheck) literal(e ast.Expr, s *openapi.Schema, at *fieldPath) bool {
	var value any
	switch v := e.AsLiteral().(type) {
	case types.String:
		value = string(v)
	case types.Int:
		value = int64(v)
	case types.Bool:
		value = bool(v)
	default:
		return false
	}
	if !takes(s, value) || s.IsBytes() {
		return false // the comparison of types reports it
	}
	r.constant(value, s, at, r.place(e))
	return true
}

// entries compares the entries of a map that the expression writes out.
func (r *resultCheck) entries(e ast.Expr, s *openapi.Schema, at *fieldPath) {
	given := map[string]bool{}
	whole := !r.Shared
	for _, each := range e.AsMap().Entries() {
		entry := each.AsMapEntry()
		name, ok := flow.LiteralText(entry.Key())
		if s.Type == openapi.Map {
			if !ok {
				name = "…"
			}
			r.check(entry.Value(), s.Items, at.to(name, s))
			continue
		}
		field := s.Fields[name]
		switch {
		case !ok:
			whole = false
		case field != nil:
			r.check(entry.Value(), field.Schema, at.to(name, s))
		case !s.Open:
			name = r.noEntry(entry, name, e, s, at)
		}
		given[name] = true
	}
	if s.Type == openapi.Object && whole {
		if missing := missingFields(s, given); len(missing) > 0 {
			r.Report(r.place(e), diagnostic.CodeFieldMissing, "%s is missing %s", at, Listed(missing, "and"))
		}
	}
}

// noEntry reports an entry that is not a field of the object. It returns the field with the most similar name.
func (r *resultCheck) noEntry(entry ast.MapEntry, name string, of ast.Expr, s *openapi.Schema, at *fieldPath) (near string) {
	finding, near := r.noField(r.place(entry.Key()), name, s, at)
	isGiven := slices.ContainsFunc(of.AsMap().Entries(), func(other ast.EntryExpr) bool {
		key, ok := flow.LiteralText(other.AsMapEntry().Key())
		return !ok || key == near
	})
	if near != "" && !isGiven {
		finding.WithEdit(finding.Position, name, near)
	}
	return near
}

// noFieldOf reports, at the read of a variable, that its value has a field which the schema does not have. The fix is
// at the field itself.
func (r *resultCheck) noFieldOf(e ast.Expr, name string, s *openapi.Schema, at *fieldPath) {
	f := r.reportAt(r.place(e), diagnostic.CodeFieldResult, "%s has no field %s, which this gives", at, name)
	near, ok := diagnostic.Nearest(name, FieldNames(s))
	if ok {
		f.WithHint("did you mean %q?", near)
	}
	if e.ID() != r.x.Parsed().Root().ID() || r.Variable == nil {
		return
	}
	key := r.Variable.KeyOf(name)
	if key == nil {
		return
	}
	f.WithRelated(r.At(key), "%s is here", name)
	if ok && !r.Variable.Has(near) {
		f.WithEdit(r.At(key), name, near)
	}
}

// place returns the position at which a part of the expression starts.
func (r *resultCheck) place(e ast.Expr) diagnostic.Position {
	first, length := max(r.x.Parsed().Start(e), 0), 0
	if e.ID() == r.x.Parsed().Root().ID() {
		first = 0
	}
	if offset, text, ok := flow.Extent(r.x.Parsed(), e); ok && offset == first {
		length = len(text)
	}
	return r.PlaceOf(r.n, yamltree.Part{Expr: true, Offset: r.Offset, Text: r.x.Parsed().Text()}, first, length)
}

// maxShown is how long an expression may be to be repeated in a hint.
const maxShown = 50

// source returns a part of the expression as hints show it.
func (r *resultCheck) source(e ast.Expr) string {
	text := r.x.Parsed().Source(e)
	if e.ID() == r.x.Parsed().Root().ID() {
		text = r.Text
	}
	if len(text) > maxShown || strings.Contains(text, "\n") {
		return "…"
	}
	return text
}

// writeBytes says how to write text that should be bytes. It does not repeat the text, which may be a password.
const writeBytes = "write ${bytes('…')}"

// written compares a scalar without expressions with its schema.
func (t *TemplateCheck) written(n *yamltree.Node, s *openapi.Schema, at *fieldPath) {
	if takes(s, n.Value) {
		t.constant(n.Value, s, at, t.At(n))
		return
	}
	what, hint := n.What(), writtenHint(n.Value, s)
	if number, isFloat := n.Value.(float64); isFloat && s.Type != openapi.String {
		what = strconv.FormatFloat(number, 'g', -1, 64)
	}
	if s.IsBytes() {
		hint = bytesHint(writeBytes, at)
	}
	f := t.report(n, diagnostic.CodeFieldForm, "%s must be %s, and is %s", at, Wants(s), what)
	f.Hint = hint
	text, isText := n.Text()
	switch list, isList := strings.CutSuffix(strings.TrimPrefix(hint, "write "), ", a list of one"); {
	case hint == syntax.QuotesHint:
		syntax.SuggestQuotes(f, n)
	case hint == withoutQuotes && n.Literal() != text:
		f.WithEdit(t.At(n), n.Literal(), text)
	case isList && isText && n.Literal() != text:
		f.WithEdit(t.At(n), n.Literal(), "["+n.Literal()+"]")
	case isList:
		f.WithEdit(t.At(n), n.Raw(), list)
	}
}

// takes reports whether a field takes a literal value. Bytes are written as base64 text.
func takes(s *openapi.Schema, value any) bool {
	if number, ok := value.(float64); ok && number == math.Trunc(number) {
		value = int64(number)
	}
	kind := ScalarType(value).Kind()
	_, fits := Fitting(kind, s)
	return fits || kind == types.NullTypeKind || kind == types.StringKind && s.IsBytes()
}

// writtenHint says how to write a value in a field that does not take it.
func writtenHint(value any, s *openapi.Schema) string {
	text, isText := value.(string)
	switch {
	case isText:
		return unquoteHint(text, s)
	case s.Type == openapi.String:
		return syntax.QuotesHint
	}
	if number, ok := value.(int64); ok && s.Type == openapi.List {
		if s.Items != nil && s.Items.Type == openapi.String {
			return fmt.Sprintf("write [\"%d\"], a list of one", number)
		}
		return fmt.Sprintf("write [%d], a list of one", number)
	}
	return ""
}

// wordList writes the words of a command as a list: [sh, -c, "sleep 5"] for sh -c "sleep 5".
func wordList(command string) string {
	words := regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`).FindAllString(command, -1)
	for i, word := range words {
		if strings.ContainsAny(word, ",[]{}#&*!|>%@`:?") && !strings.ContainsAny(word[:1], `"'`) {
			words[i] = strconv.Quote(word)
		}
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// withoutQuotes is the hint for text that is a number or a boolean.
const withoutQuotes = "write it without quotes"

// unquoteHint says how to write text that should be another type.
func unquoteHint(text string, s *openapi.Schema) string {
	_, notInt := strconv.ParseInt(text, 10, 64)
	_, notFloat := strconv.ParseFloat(text, 64)
	_, notBool := strconv.ParseBool(text)
	yesOrNo := slices.Contains([]string{"yes", "no", "on", "off"}, strings.ToLower(text)) // booleans in older YAML
	switch {
	case s.Type == openapi.Integer && notInt == nil,
		s.Type == openapi.Number && notFloat == nil,
		s.Type == openapi.Boolean && (text == "true" || text == "false"):
		return withoutQuotes
	case s.Type == openapi.Boolean && (notBool == nil || yesOrNo):
		return "write true or false"
	case s.Type == openapi.List && s.Items != nil && s.Items.Type == openapi.String && strings.Contains(text, " "):
		return "write each word as an item, as in " + wordList(text)
	case s.Type == openapi.List && s.Items != nil && s.Items.Type == openapi.String && text != "":
		return fmt.Sprintf("write [%s], a list of one", strconv.Quote(text))
	}
	return ""
}

// constant compares a value of the right type with the enum and the format of its schema.
func (t *TemplateCheck) constant(value any, s *openapi.Schema, at *fieldPath, pos diagnostic.Position) {
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return enumText(e) == enumText(value) }) && (!t.BuiltIn || value != "") {
		t.reportAt(pos, diagnostic.CodeFieldEnum, "%s cannot be %s; %s", at, enumText(value), enumChoice(s.Enum)).
			Suggest(enumNames(value, s.Enum))
		return
	}
	if text, ok := value.(string); ok && milliBytes.MatchString(text) && slices.Contains([]string{"memory", "storage", "ephemeral-storage"}, at.name) &&
		at.up != nil && slices.Contains([]string{"requests", "limits"}, at.up.name) {
		t.reportAt(pos, diagnostic.CodeFieldFormat, "%s is in bytes, and %s is thousandths of one", at, enumText(text)).
			WithHint("write %sMi or %sM for megabytes", strings.TrimSuffix(text, "m"), strings.TrimSuffix(text, "m"))
		return
	}
	switch want := t.badFormat(value, s); {
	case want == "":
	case s.Format == openapi.FormatByte:
		// It may be a password.
		t.reportAt(pos, diagnostic.CodeFieldFormat, "%s must be base64, and is not", at).WithHint("%s", bytesHint(writeBytes, at))
	default:
		t.reportAt(pos, diagnostic.CodeFieldFormat, "%s must be %s, and is %s", at, want, enumText(value))
	}
}

// milliBytes is an amount of thousandths of a byte, such as 128m.
var milliBytes = regexp.MustCompile(`^\d+m$`)

// enumText writes a scalar so that values that are equal in JSON have the same text.
func enumText(value any) string {
	if s, ok := value.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(value)
}

func enumChoice(enum []any) string {
	if len(enum) > maxListed {
		return fmt.Sprintf("it has %d values to choose from", len(enum))
	}
	texts := make([]string, len(enum))
	for i, e := range enum {
		texts[i] = enumText(e)
	}
	if len(texts) == 1 {
		return "it can only be " + texts[0]
	}
	return "it can be " + Listed(texts, "or")
}

func enumNames(value any, enum []any) (text string, names []string) {
	text, _ = value.(string)
	for _, e := range enum {
		if s, ok := e.(string); ok {
			names = append(names, s)
		}
	}
	return text, names
}

// badFormat returns what the value must be if it does not have the format of its field; else "".
func (t *TemplateCheck) badFormat(value any, s *openapi.Schema) (want string) {
	switch v := value.(type) {
	case int64:
		// The Go type of int-or-string has 32 bits too.
		narrow := s.Format == "int32" || t.BuiltIn && s.Type == openapi.IntOrString && s.Format != openapi.FormatQuantity
		if narrow && (v > math.MaxInt32 || v < math.MinInt32) {
			return "an integer of 32 bits"
		}
	case string:
		return t.badText(v, s)
	}
	return ""
}

func (t *TemplateCheck) badText(text string, s *openapi.Schema) (want string) {
	ok := true
	switch s.Format {
	case "":
	case openapi.FormatQuantity:
		ok, want = celenv.IsQuantity(text), Wants(s)
	case openapi.FormatByte:
		_, err := base64.StdEncoding.DecodeString(text)
		ok, want = err == nil, "base64"
	case openapi.FormatTime:
		_, err := time.Parse(time.RFC3339, text)
		ok, want = err == nil || !t.BuiltIn && strfmt.IsDateTime(text), "a time, such as 2026-01-31T12:00:00Z"
	case openapi.FormatDuration:
		ok, want = strfmt.IsDuration(text), "a duration, such as 90s or 1h30m"
	default:
		ok, want = t.BuiltIn || !strfmt.Default.ContainsName(s.Format) || strfmt.Default.Validates(s.Format, text), "of the format "+s.Format
	}
	if ok {
		return ""
	}
	return want
}
