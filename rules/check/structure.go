package check

import (
	"cmp"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/flow"
)

// Written returns the schema of the expression's value, or nil if part of it is not known. A map that the expression
// writes out is an object with these fields.
func (x *Expression) Written(t *Table) *openapi.Schema { return t.writtenBy(x, x.expr.Root()) }

// Items returns the schema of the items if the expression's value is a list; nil if it is not known.
func (x *Expression) Items(t *Table) *openapi.Schema {
	if s := x.Written(t); s != nil && s.Type == openapi.List {
		return s.Items
	}
	return nil
}

// writtenBy returns the schema of a node's value. It descends into the lists and maps that the expression writes out.
func (t *Table) writtenBy(x *Expression, e ast.Expr) *openapi.Schema {
	switch e.Kind() {
	case ast.CallKind:
		if call := e.AsCall(); call.FunctionName() == operators.Conditional {
			yes, no := call.Args()[1], call.Args()[2]
			switch {
			case isNothing(yes):
				return t.writtenBy(x, no)
			case isNothing(no):
				return t.writtenBy(x, yes)
			}
			return openapi.Join(t.writtenBy(x, yes), t.writtenBy(x, no))
		}
	case ast.ListKind:
		var items []*openapi.Schema
		for _, item := range e.AsList().Elements() {
			items = append(items, t.writtenBy(x, item))
		}
		if list := CollectionSchema(openapi.List, items); list != nil {
			return list
		}
	case ast.MapKind:
		if made := t.writtenObject(x, e.AsMap()); made != nil {
			return made
		}
	case ast.ComprehensionKind:
		if item := Mapped(e.AsComprehension()); item != nil {
			if s := t.writtenBy(x, item); s != nil && e.AsComprehension().AccuInit().Kind() == ast.ListKind {
				return &openapi.Schema{Type: openapi.List, Items: s}
			}
		}
	default:
	}
	return t.written(x.TypeAt(e))
}

// isNothing reports whether an expression is null or optional.none(), which leave a field out.
func isNothing(e ast.Expr) bool {
	return flow.IsNullLiteral(e) || e.Kind() == ast.CallKind && e.AsCall().FunctionName() == "optional.none"
}

// writtenObject returns the schema of a map whose keys are all literals; nil for any other.
func (t *Table) writtenObject(x *Expression, m ast.MapExpr) *openapi.Schema {
	made := &openapi.Schema{Type: openapi.Object, Fields: map[string]*openapi.Field{}}
	for _, e := range m.Entries() {
		entry := e.AsMapEntry()
		name, ok := flow.LiteralText(entry.Key())
		s := t.writtenBy(x, entry.Value())
		if !ok || s == nil {
			return nil
		}
		made.Fields[name] = &openapi.Field{Schema: s}
	}
	if len(made.Fields) == 0 {
		return nil
	}
	return made
}

// written returns a schema for the values of a type, or for an optional's values. An object with a named schema keeps
// that schema; every other one has only the types. It returns nil if part of the type is not known.
func (t *Table) written(v Type) *openapi.Schema {
	switch v = v.Inner(); v.Kind() {
	case types.StructKind:
		s := t.schemaOf(v)
		if s.Name != "" {
			return s
		}
		made := &openapi.Schema{Type: openapi.Object, Fields: make(map[string]*openapi.Field, len(s.Fields))}
		for name, field := range s.Fields {
			of := t.written(t.Of(field.Schema))
			if of == nil {
				return nil
			}
			made.Fields[name] = &openapi.Field{Schema: of}
		}
		return made
	case types.ListKind, types.MapKind:
		if s := v.schema; s != nil && s.Type == openapi.Object && s.Open {
			return &openapi.Schema{Type: openapi.Object, Open: true}
		}
		items := t.written(t.Element(v))
		switch {
		case items == nil:
			return nil
		case v.Kind() == types.ListKind:
			return &openapi.Schema{Type: openapi.List, Items: items}
		}
		return &openapi.Schema{Type: openapi.Map, Items: items}
	case types.StringKind, types.TimestampKind, types.DurationKind, types.BytesKind:
		if v.schema != nil && v.schema.Type == openapi.String {
			return &openapi.Schema{Type: openapi.String, Format: v.schema.Format}
		}
	default:
		if v.schema != nil && v.schema.Type == openapi.IntOrString {
			return &openapi.Schema{Type: openapi.IntOrString, Format: v.schema.Format}
		}
	}
	return ScalarSchema(v.Kind())
}

// CollectionSchema returns the schema of a list or a map whose items have these schemas; nil if no single schema fits
// them all.
func CollectionSchema(typ openapi.Type, items []*openapi.Schema) *openapi.Schema {
	if len(items) == 0 {
		return nil
	}
	all := items[0]
	for _, item := range items[1:] {
		all = openapi.Join(all, item)
	}
	if all == nil {
		return nil
	}
	return &openapi.Schema{Type: typ, Items: all}
}

// ScalarSchema returns the schema of scalars of a kind in CEL; nil for null and for a kind that JSON does not have.
func ScalarSchema(kind types.Kind) *openapi.Schema {
	switch kind {
	case types.BoolKind:
		return &openapi.Schema{Type: openapi.Boolean}
	case types.IntKind, types.UintKind:
		return &openapi.Schema{Type: openapi.Integer}
	case types.DoubleKind:
		return &openapi.Schema{Type: openapi.Number}
	case types.StringKind:
		return &openapi.Schema{Type: openapi.String}
	case types.TimestampKind:
		return &openapi.Schema{Type: openapi.String, Format: openapi.FormatTime}
	case types.DurationKind:
		return &openapi.Schema{Type: openapi.String, Format: openapi.FormatDuration}
	case types.BytesKind:
		return &openapi.Schema{Type: openapi.String, Format: openapi.FormatByte}
	default:
		return nil
	}
}

// Mapped returns the expression that list.map(x, …) computes for each item; nil for another loop.
func Mapped(c ast.ComprehensionExpr) ast.Expr {
	if item := added(c); item != nil && !isItem(item, c) {
		return item
	}
	return nil // list.filter(x, …) only selects items
}

// Filtered returns the list that list.filter(x, …) selects from; nil for another loop.
func Filtered(c ast.ComprehensionExpr) ast.Expr {
	if item := added(c); item != nil && isItem(item, c) {
		return c.IterRange()
	}
	return nil
}

func isItem(e ast.Expr, of ast.ComprehensionExpr) bool {
	return e.Kind() == ast.IdentKind && e.AsIdent() == of.IterVar()
}

// added returns what a loop appends to a list for each item; nil for another loop.
func added(c ast.ComprehensionExpr) ast.Expr {
	step := c.LoopStep()
	if step.Kind() == ast.CallKind && step.AsCall().FunctionName() == operators.Conditional {
		step = step.AsCall().Args()[1] // list.map(x, condition, …) and list.filter
	}
	if step.Kind() != ast.CallKind || step.AsCall().FunctionName() != operators.Add {
		return nil
	}
	args := step.AsCall().Args()
	if len(args) != 2 || !isAccumulator(args[0]) || args[1].Kind() != ast.ListKind || args[1].AsList().Size() != 1 {
		return nil
	}
	return args[1].AsList().Elements()[0]
}

// ItemFields takes an expression such as list.map(x, {"field": …}), filtered or not. It returns the expressions of the
// fields and the name of the loop variable, x. It returns nil for any other expression.
func ItemFields(e ast.Expr) (fields map[string]ast.Expr, of string) {
	for e.Kind() == ast.ComprehensionKind {
		c := e.AsComprehension()
		item := Mapped(c)
		if item == nil {
			e = c.IterRange()
			continue
		}
		if item.Kind() != ast.MapKind {
			return nil, ""
		}
		fields = map[string]ast.Expr{}
		for _, entry := range item.AsMap().Entries() {
			if name, ok := flow.LiteralText(entry.AsMapEntry().Key()); ok {
				fields[name] = entry.AsMapEntry().Value()
			}
		}
		return fields, c.IterVar()
	}
	return nil, ""
}

// FieldRead is a read of a field by its name, after a dot or in brackets.
type FieldRead struct {
	Name string
	// Of is the type of the value that has the field.
	Of Type
}

// FieldReads returns the fields that the expression reads, in any order.
func (x *Expression) FieldReads() []FieldRead {
	var all []FieldRead
	for _, e := range x.expr.Nodes() {
		if step, ok := flow.StepOf(e); ok && step.Literal {
			all = append(all, FieldRead{Name: step.Name, Of: x.nodes[step.Operand.ID()]})
		}
	}
	return all
}

// Schema returns the schema of the values of a type, or of an optional's values; nil if there is none.
func (t *Table) Schema(of Type) *openapi.Schema {
	return cmp.Or(of.schema, t.objects[of.Inner().CEL().TypeName()])
}
