package engine

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/kinds/restmapping"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/wire"
)

// TestConcern covers which events may be those of own writes, and which are recorded as the cause of a reconcile.
func TestConcern(t *testing.T) {
	t.Parallel()
	child := func(tag string) *wire.Object {
		return wire.Of(&unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap"}}).Tagged(tag)
	}
	a, b := child("rule/ns/a"), child("rule/ns/b")
	created, changed, moved, deleted := monitor.Event{New: a}, monitor.Event{Old: a, New: a}, monitor.Event{Old: b, New: a}, monitor.Event{Old: a}
	reads := func(of program.Program) *operator.Operator {
		return &operator.Operator{Plan: &plan.Plan{Program: &of, Parent: restmapping.Kind{HasStatus: true}}}
	}
	plain, readsStatus, readsObserved := reads(program.Program{}), reads(program.Program{ReadsStatus: true}), reads(program.Program{})
	readsObserved.ReadsObserved.Store(true)
	for name, tt := range map[string]struct {
		op         *operator.Operator
		as         role
		event      monitor.Event
		own, cause bool
	}{
		"a child is created":                       {plain, asChild, created, true, false},
		"a child changes":                          {plain, asChild, changed, true, false},
		"a child becomes that of another parent":   {plain, asChild, moved, false, false},
		"a child is deleted":                       {plain, asChild, deleted, false, true},
		"a child that expressions read changes":    {readsObserved, asChild, changed, false, true},
		"a parent is created":                      {plain, asParent, created, false, true},
		"a parent changes":                         {plain, asParent, changed, true, true},
		"a parent is deleted":                      {plain, asParent, deleted, false, true},
		"a parent whose rule reads status changes": {readsStatus, asParent, changed, false, true},
		"a namespace changes":                      {plain, asNamespace, changed, false, true},
		"an object that was read changes":          {plain, asLookup, changed, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := concern{op: tt.op, as: tt.as}
			if own, cause := c.mayBeOwnWrite(tt.event), c.needsCause(tt.event); own != tt.own || cause != tt.cause {
				t.Errorf("may be an own write: %t, want %t; needs a cause: %t, want %t", own, tt.own, cause, tt.cause)
			}
		})
	}
}
