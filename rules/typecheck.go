package rules

import (
	"maps"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
)

// typing walks over one expression, which CEL's checker has passed, once more:
// with the types that schemas give to what it reads. What it finds is reported;
// the program that runs does not depend on it, but for the texts that are read
// as times.
type typing struct {
	*analysis
	// texts are the reads of values that are text in an object and something
	// else in an expression.
	texts map[int64]run.Conversion
	// encoded are the reads of values in which base64 stands for bytes, and steps those
	// that are only a part of a longer path.
	encoded map[int64]*openapi.Schema
	steps   map[int64]bool
	// asked are the paths, as CEL writes them, that are known to be there.
	asked map[string]bool
	// warned are the paths of which it was said that they may be missing.
	warned map[string]bool
	// withDefaults are the paths that conditions in the expression ask for by way of
	// a default; nil before they are needed.
	withDefaults map[string]bool
	// joined are the operands of && and || that were looked at with the whole.
	joined map[int64]bool
}

// missingRead is a read of a field that may be missing.
type missingRead struct {
	// finding says so.
	finding *diagnostic.Finding
	// optional is the read as it is written where the field may be missing.
	optional string
}

// typeBindings are the types of the names that the expression itself declares.
type typeBindings map[string]typed

func (b typeBindings) with(names map[string]typed) typeBindings {
	out := make(typeBindings, len(b)+len(names))
	maps.Copy(out, b)
	for k, v := range names {
		if k != "" {
			out[k] = v
		}
	}
	return out
}

// checkTypes is the type of the analysed expression, what is read of its texts, in how,
// and the paths that are there where it is true.
func (a *analysis) checkTypes(how *run.Options) (out typed, holds map[string]bool) {
	t := &typing{analysis: a, texts: map[int64]run.Conversion{}, encoded: map[int64]*openapi.Schema{}, steps: map[int64]bool{}, asked: map[string]bool{}, warned: map[string]bool{}, joined: map[int64]bool{}}
	maps.Copy(t.asked, a.scope.asked)
	for _, e := range a.expr.Nodes() {
		t.collectAsked(e, t.asked)
	}
	out = t.walk(a.expr.Root(), nil, false)
	if out.root != "" {
		out = typed{} // reported: a member is missing
	}
	// What was read without asking is there where there is a result.
	holds = t.warned
	for _, e := range terms(operators.LogicalAnd, a.expr.Root(), nil) {
		t.collectAsked(e, holds)
		t.collectDefaulted(e, holds)
	}
	how.Conversions, how.Encoded = t.texts, t.encoded
	return out, holds
}

// value is the type of a node that is computed with.
func (t *typing) value(e ast.Expr, env typeBindings) typed { return t.walk(e, env, true) }

// walk is the type of a node. computed is false where the value goes into the
// result as it is.
func (t *typing) walk(e ast.Expr, env typeBindings, computed bool) typed {
	out := t.node(e, env, computed)
	t.nodes[e.ID()] = out
	return out
}

func (t *typing) node(e ast.Expr, env typeBindings, computed bool) typed {
	switch e.Kind() {
	case ast.IdentKind:
		return t.read(e, t.name(e, env), computed)
	case ast.SelectKind:
		sel := e.AsSelect()
		t.steps[sel.Operand().ID()] = true
		from := t.walk(sel.Operand(), env, false)
		return t.read(e, t.selected(e, sel.Operand(), from, sel.FieldName(), sel.IsTestOnly(), false), computed)
	case ast.CallKind:
		return t.call(e, env, computed)
	case ast.ListKind:
		return t.list(e.AsList(), env, computed)
	case ast.MapKind:
		return t.mapping(e.AsMap(), env, computed)
	case ast.ComprehensionKind:
		return t.loop(e.AsComprehension(), env)
	default:
		return typed{typ: t.expr.TypeOf(e.ID())}
	}
}

// read notes what the text of a read means.
func (t *typing) read(e ast.Expr, v typed, computed bool) typed {
	if !t.steps[e.ID()] && t.c.types.hasBytes(v.schema) {
		t.encoded[e.ID()] = v.schema
		return v
	}
	if !computed {
		return v
	}
	if m, ok := run.ConversionTo(innerType(v.cel())); ok {
		t.texts[e.ID()] = m
	}
	return v
}

func (t *typing) name(e ast.Expr, env typeBindings) typed {
	name := e.AsIdent()
	if v, ok := env[name]; ok {
		return v
	}
	switch name {
	case flow.RootParent:
		return t.c.kindType(t.c.rule.Parent.GVK)
	case flow.RootNow:
		return typed{typ: types.TimestampType}
	case flow.RootFinalizing:
		return typed{typ: types.BoolType}
	}
	if flow.IsGroup(name) {
		return typed{root: name}
	}
	if o, ok := t.scope.names[name]; ok {
		return o.typ
	}
	return typed{typ: t.expr.TypeOf(e.ID())}
}

// member is a member of a root.
func (t *typing) member(root, name string) typed {
	switch root {
	case flow.RootChildren, flow.RootObserved:
		return t.c.childType(name)
	case flow.RootEach:
		if spec := t.c.children[name]; spec != nil {
			return t.c.kindType(syntax.TemplateGVK(spec.Template))
		}
	case flow.RootLookups:
		return t.c.lookupType(name)
	case flow.RootVariables:
		if v := t.c.variable(t.scope, name); v != nil && v.origin != nil {
			return v.origin.typ
		}
	}
	return typed{}
}

// selected is operand.name in all its spellings. presence is true for has().
func (t *typing) selected(e, operand ast.Expr, from typed, name string, presence, optional bool) typed {
	if from.root != "" && presence {
		return typed{typ: types.BoolType}
	}
	if from.root != "" {
		return asOptional(t.member(from.root, name), optional)
	}
	typ := from.cel()
	if isOptional(typ) {
		from.typ, optional = innerType(typ), true
		typ = from.typ
	}
	out := typed{}
	switch typ.Kind() {
	case types.StructKind:
		s := t.c.types.schemaOf(from)
		field := s.Fields[name]
		switch {
		case field != nil:
			out = t.c.types.of(field.Schema)
			if !presence && !optional {
				t.mayBeMissing(e, operand, name, field)
			}
		case !s.Open:
			t.unknownField(e, operand, name, s, presence)
		}
	case types.MapKind:
		if !celenv.Meet(typ.Parameters()[0], types.StringType) {
			t.wrongKey(e, operand, typ)
		}
		if !presence && !optional {
			t.labelMayBeMissing(e, operand, name)
		}
		out = t.c.types.element(from)
	case types.DynKind, types.AnyKind, types.ErrorKind, types.TypeParamKind, types.NullTypeKind, types.OpaqueKind:
	default:
		t.noFields(e, operand, name, from)
	}
	if presence {
		return typed{typ: types.BoolType}
	}
	return asOptional(out, optional)
}

// asOptional is the value wrapped, where that is asked for and it is not yet.
func asOptional(v typed, optional bool) typed {
	if !optional || isOptional(v.cel()) {
		return v
	}
	v.typ = types.NewOptionalType(v.cel())
	return v
}

// indexed is operand[index].
func (t *typing) indexed(e, operand, index ast.Expr, env typeBindings, optional bool) typed {
	t.steps[operand.ID()] = true
	from := t.walk(operand, env, false)
	if name, ok := flow.LiteralText(index); ok && innerType(from.cel()).Kind() != types.ListKind {
		return t.selected(e, operand, from, name, false, optional)
	}
	at := t.value(index, env)
	typ := from.cel()
	if isOptional(typ) {
		from.typ, optional = innerType(typ), true
		typ = from.typ
	}
	out := typed{}
	switch typ.Kind() {
	case types.ListKind:
		if !celenv.Meet(at.cel(), types.IntType) {
			t.wrongIndex(operand, index, from, at)
		}
		out = t.c.types.element(from)
	case types.MapKind:
		if !celenv.Meet(typ.Parameters()[0], at.cel()) {
			t.wrongIndex(operand, index, from, at)
		}
		out = t.c.types.element(from)
	case types.StructKind:
		if !celenv.Meet(types.StringType, at.cel()) {
			t.wrongIndex(operand, index, from, at)
		}
	case types.DynKind, types.AnyKind, types.ErrorKind, types.TypeParamKind, types.NullTypeKind, types.OpaqueKind:
	default:
		t.noItems(e, operand, from)
	}
	return asOptional(out, optional)
}

func (t *typing) list(l ast.ListExpr, env typeBindings, computed bool) typed {
	item := typed{typ: celenv.NoType()}
	for i, e := range l.Elements() {
		v := t.walk(e, env, computed)
		if l.IsOptional(int32(i)) { //nolint:gosec // A list in an expression is short.
			v.typ = innerType(v.cel())
		}
		item = t.join(item, v)
	}
	return typed{typ: types.NewListType(item.cel())}
}

func (t *typing) mapping(m ast.MapExpr, env typeBindings, computed bool) typed {
	key, value := typed{typ: celenv.NoType()}, typed{typ: celenv.NoType()}
	for _, entry := range m.Entries() {
		pair := entry.AsMapEntry()
		key = t.join(key, t.value(pair.Key(), env))
		v := t.walk(pair.Value(), env, computed)
		if pair.IsOptional() {
			v.typ = innerType(v.cel())
		}
		value = t.join(value, v)
	}
	return typed{typ: types.NewMapType(key.cel(), value.cel())}
}

// join is what is known of a value that is one of both.
func (t *typing) join(a, b typed) typed {
	out := t.c.types.fromCEL(celenv.Join(a.cel(), b.cel()))
	switch {
	case a.schema != nil && (a.schema == b.schema || b.cel().Kind() == types.NullTypeKind):
		out.schema = a.schema
	case b.schema != nil && a.cel().Kind() == types.NullTypeKind:
		out.schema = b.schema
	}
	return out
}

// loop is a comprehension: what all(), map() and the like are made of.
func (t *typing) loop(c ast.ComprehensionExpr, env typeBindings) typed {
	over := t.walk(c.IterRange(), env, false)
	if !isRange(over.cel()) {
		t.report(c.IterRange().ID(), diagnostic.CodeTypes, "%s, and a loop needs a list or a map", t.subject(c.IterRange(), over)).
			Hint = optionalHint(t.path(c.IterRange()), over)
	}
	first, second := t.ranged(over, c.HasIterVar2())
	start := t.walk(c.AccuInit(), env, false)
	inner := env.with(map[string]typed{c.IterVar(): first, c.IterVar2(): second, c.AccuVar(): start})
	if c.IterVar() == "#unused" { // cel.bind
		return t.walk(c.Result(), env.with(map[string]typed{c.AccuVar(): start}), true)
	}
	step := t.value(c.LoopStep(), inner)
	result := start
	if joined := celenv.Join(start.cel(), step.cel()); !joined.IsExactType(start.cel()) {
		result = t.c.types.fromCEL(joined)
	}
	inner = inner.with(map[string]typed{c.AccuVar(): result})
	t.value(c.LoopCondition(), inner)
	return t.walk(c.Result(), env.with(map[string]typed{c.AccuVar(): result}), true)
}

// isRange says whether a loop can go over values of a type.
func isRange(typ *types.Type) bool {
	switch typ.Kind() {
	case types.ListKind, types.MapKind, types.StructKind, types.DynKind, types.AnyKind, types.ErrorKind, types.TypeParamKind:
		return true
	default:
		return false
	}
}

// isAccumulator says whether a node is what a loop has come to so far, of which
// the author wrote nothing.
func isAccumulator(e ast.Expr) bool {
	return e.Kind() == ast.IdentKind && strings.HasPrefix(e.AsIdent(), "@")
}

// ranged are the types of the names of a loop.
func (t *typing) ranged(over typed, two bool) (first, second typed) {
	typ := over.cel()
	switch typ.Kind() {
	case types.ListKind:
		if two {
			return typed{typ: types.IntType}, t.c.types.element(over)
		}
		return t.c.types.element(over), typed{}
	case types.MapKind, types.StructKind:
		return typed{typ: types.StringType}, t.c.types.element(over)
	default:
		return typed{}, typed{}
	}
}

// mayBeMissing warns of a field that is read as if it were always there.
func (t *typing) mayBeMissing(e, operand ast.Expr, name string, f *openapi.Field) {
	if f.Required || f.Defaulted || f.Always {
		return
	}
	if !t.isAlwaysThere(operand, name) {
		t.warnMissing(e, name, t.expr.Source(operand)+".?"+name, "its schema neither requires it nor has a default for it")
	}
}

// warnMissing warns of a read, once, unless something asks whether there is a value. optional is the read as it is written
// where there may be none.
func (t *typing) warnMissing(e ast.Expr, name, optional, reason string) {
	if r, ok := t.reads[e.ID()]; !ok || r.waits {
		return
	}
	path := t.expr.Source(e)
	if t.asked[path] || t.warned[path] || t.defaulted()[path] {
		return
	}
	t.warned[path] = true
	finding := t.reportName(e.ID(), name, diagnostic.CodeOptionalField, "%s may be missing: %s", path, reason)
	if t.missing == nil {
		t.missing = map[int64]missingRead{}
	}
	t.missing[e.ID()] = missingRead{finding: finding, optional: optional}
	ask := "has(" + path + ")"
	if e.Kind() != ast.SelectKind {
		ask = strconv.Quote(name) + " in " + t.expr.Source(e.AsCall().Args()[0])
	}
	finding.WithHint("write %s, with orValue(…) where there must be a value, or ask %s first", optional, ask)
}

// isAlwaysThere says whether the API server sees to a field of every object, of
// which schemas say nothing.
func (t *typing) isAlwaysThere(operand ast.Expr, name string) bool {
	switch t.expr.Source(operand) {
	case flow.RootParent:
		// An object without a spec is a rare one, and not what reading a field of
		// it is about.
		return name == "apiVersion" || name == "kind" || name == "metadata" || name == "spec"
	case flow.RootParent + ".metadata":
		switch name {
		case "name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation":
			return true
		case "labels":
			return t.c.rule.Parent.Labelled()
		}
	}
	return false
}

// collectAsked notes the paths that are there where the node is true: that of
// has(path), that of "key" in path, and those of a variable that asks. That a path is
// not null is no such question: where it is missing, there is nothing to compare.
func (t *typing) collectAsked(e ast.Expr, asked map[string]bool) {
	if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.In {
		key, of := e.AsCall().Args()[0], e.AsCall().Args()[1]
		if name, ok := flow.LiteralText(key); ok {
			asked[t.expr.Source(of)+"."+name] = true
			asked[t.expr.Source(of)+"["+t.expr.Source(key)+"]"] = true
		}
		return
	}
	if e.Kind() != ast.SelectKind {
		return
	}
	sel := e.AsSelect()
	switch {
	case sel.IsTestOnly():
		asked[t.expr.Source(sel.Operand())+"."+sel.FieldName()] = true
	case sel.Operand().Kind() == ast.IdentKind && sel.Operand().AsIdent() == flow.RootVariables:
		if v := t.c.variable(t.scope, sel.FieldName()); v != nil && v.origin != nil {
			maps.Copy(asked, v.origin.holds)
		}
	}
}

// terms are the parts of an expression that an operator joins.
func terms(operator string, e ast.Expr, found []ast.Expr) []ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operator {
		return append(found, e)
	}
	for _, arg := range e.AsCall().Args() {
		found = terms(operator, arg, found)
	}
	return found
}
