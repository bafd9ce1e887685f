package engine

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/applytest"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules/program"
)

// TestKnownEvents covers which events may be known already, and which are recorded as the cause of a reconcile.
func TestKnownEvents(t *testing.T) {
	t.Parallel()
	child := func(tag string) *watch.Object {
		return watch.Of(&unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap"}}).Tagged(tag)
	}
	a, b := child("rule/ns/a"), child("rule/ns/b")
	created, changed, moved, deleted := watch.Event{New: a}, watch.Event{Old: a, New: a}, watch.Event{Old: b, New: a}, watch.Event{Old: a}
	reads := func(of program.Program) *operator.Operator {
		return &operator.Operator{Plan: &operator.Plan{Program: &of, Parent: restmapping.Kind{HasStatus: true}}}
	}
	plain, readsStatus, readsObserved := reads(program.Program{}), reads(program.Program{ReadsStatus: true}), reads(program.Program{})
	readsObserved.ReadsObserved.Store(true)
	for name, tt := range map[string]struct {
		op           *operator.Operator
		as           role
		event        watch.Event
		known, cause bool
	}{
		"a child is created":                       {plain, asChild, created, true, false},
		"a child changes":                          {plain, asChild, changed, true, false},
		"a child becomes that of another parent":   {plain, asChild, moved, false, false},
		"a child is deleted":                       {plain, asChild, deleted, false, true},
		"a child that is observed changes":         {readsObserved, asChild, changed, false, true},
		"a parent is created":                      {plain, asParent, created, false, true},
		"a parent changes":                         {plain, asParent, changed, true, true},
		"a parent is deleted":                      {plain, asParent, deleted, false, true},
		"a parent whose rule reads status changes": {readsStatus, asParent, changed, false, true},
		"a namespace changes":                      {plain, asNamespace, changed, false, true},
		"an object that was read changes":          {plain, asLookup, changed, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := affected{op: tt.op, as: tt.as}
			if known, cause := c.mayBeKnown(tt.event), c.needsCause(tt.event); known != tt.known || cause != tt.cause {
				t.Errorf("may be known: %t, want %t; needs a cause: %t, want %t", known, tt.known, cause, tt.cause)
			}
		})
	}
}

// TestAffectedBy covers which parents an event of a child affects, by the marks before and after it.
func TestAffectedBy(t *testing.T) {
	t.Parallel()
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	begun, starting := &operator.Operator{Plan: &operator.Plan{ID: "begun"}}, &operator.Operator{Plan: &operator.Plan{ID: "starting"}}
	begun.Begun.Store(true)
	e := &Engine{readers: watch.NewReaders(nil)}
	replaced := begun.ChildKey(configMaps)
	replaced.Namespace = "other"
	running := operator.NewSet([]*operator.Operator{begun, starting})
	child := func(tag string) *watch.Object {
		return watch.Of(&unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap"}}).Tagged(tag)
	}
	for name, tt := range map[string]struct {
		informer watch.Key
		old, new *watch.Object
		want     []string
	}{
		"created":                      {begun.ChildKey(configMaps), nil, child("begun/ns/a"), []string{"a"}},
		"changed":                      {begun.ChildKey(configMaps), child("begun/ns/a"), child("begun/ns/a"), []string{"a"}},
		"moved to another parent":      {begun.ChildKey(configMaps), child("begun/ns/a"), child("begun/ns/b"), []string{"a", "b"}},
		"its mark was broken":          {begun.ChildKey(configMaps), child("begun/ns/a"), nil, []string{"a"}},
		"it lost its owner reference":  {begun.ChildKey(configMaps), child("begun/ns/a"), child("?begun0123456789"), []string{"a"}},
		"of a rule that has not begun": {begun.ChildKey(configMaps), nil, child("starting/ns/a"), nil},
		"of a rule that does not run":  {begun.ChildKey(configMaps), nil, child("other/ns/a"), nil},
		"in the informer of lookups":   {watch.Key{GVR: configMaps}, nil, child("begun/ns/a"), nil},
		"in a replaced informer":       {replaced, nil, child("begun/ns/a"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range e.affectedBy(running, watch.Event{Key: tt.informer, Old: tt.old, New: tt.new}) {
				if c.as != asChild || c.op != begun {
					t.Errorf("affected as %d by %v", c.as, c.op)
				}
				got = append(got, c.key.Parent.Name)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("affects %q, want %q", got, tt.want)
			}
		})
	}
}

// A reconcile that wrote to a parent which no longer matched the selector has recorded that its fields are there. Events
// that come later show the parent as it was before the write.
func TestUnselectedParentIsRemembered(t *testing.T) {
	t.Parallel()
	op := &operator.Operator{Plan: &operator.Plan{ID: "rule", ParentKey: watch.Key{Selector: "on=yes"}}}
	e := &Engine{parents: conditions.NewStore()}
	before := watch.Of(applytest.Object(t, `{apiVersion: shop.example.com/v1, kind: WebApp, metadata: {name: a, namespace: ns,
		managedFields: [{manager: kubectl, operation: Update, apiVersion: shop.example.com/v1, fieldsV1: {"f:spec": {}}}]}}`))
	k := keyAt(op.ID, before)
	e.parents.SetUnselected(k, true)
	e.rememberParent(op, watch.Event{Old: before, New: before})
	e.rememberParent(op, watch.Event{Old: before})
	if !e.parents.Get(k).Unselected {
		t.Error("forgotten: the status that the rule wrote would stay")
	}
}
