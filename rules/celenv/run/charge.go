package run

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/function"
)

// chargedReads charges calls that process all of their arguments for the length of these, before the call.
func chargedReads(root ast.Expr, table *function.Table) interpreter.PlannerOption {
	read := chargedArguments(root, table)
	return interpreter.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		class, ok := read[i.ID()]
		if !ok {
			return i, nil
		}
		charged := func(frame *interpreter.ExecutionFrame) ref.Val {
			val := i.Exec(frame)
			if units := class.Units(val); units > 0 {
				charge(frame, units)
			}
			return val
		}
		if path, ok := i.(interpreter.InterpretableAttribute); ok {
			return &pathNode{path, charged}, nil
		}
		return &node{i, charged}, nil
	})
}

// chargedArguments returns, by node, the arguments of calls that cost the length of their arguments.
func chargedArguments(root ast.Expr, table *function.Table) map[int64]function.CostClass {
	read := map[int64]function.CostClass{}
	note := func(e ast.Expr, class function.CostClass) {
		if e.Kind() != ast.LiteralKind { // the length of a literal is fixed, and constant patterns are compiled once
			read[e.ID()] = class
		}
	}
	for e := range celenv.All(root) {
		if e.Kind() != ast.CallKind {
			continue
		}
		call := e.AsCall()
		class, charged := table.Declared(call.FunctionName()).ChargedFor()
		if !charged {
			continue
		}
		if call.IsMemberFunction() {
			note(call.Target(), class)
		}
		for _, arg := range call.Args() {
			note(arg, class)
		}
	}
	return read
}
