package check

import (
	"cmp"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/flow"
)

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
