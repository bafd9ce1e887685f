package check

import (
	"cmp"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/flow"
)

// FieldRead is a name behind a dot in an expression, or in brackets.
type FieldRead struct {
	Name string
	// Of is the type of what has the field.
	Of Type
}

// FieldReads are the fields that the expression reads, in any order.
func (x *Expression) FieldReads() []FieldRead {
	var all []FieldRead
	for _, e := range x.expr.Nodes() {
		if step, ok := flow.StepOf(e); ok && step.Literal {
			all = append(all, FieldRead{Name: step.Name, Of: x.nodes[step.Operand.ID()]})
		}
	}
	return all
}

// Schema is the schema of the values of a type, or of the optional values; nil if there is none.
func (t *Table) Schema(of Type) *openapi.Schema {
	return cmp.Or(of.schema, t.objects[of.Inner().CEL().TypeName()])
}
