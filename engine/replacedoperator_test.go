package engine

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/guard"
	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/patching"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

// anyKind has every kind, without a cluster.
type anyKind struct{}

func (anyKind) Lookup(schema.GroupVersionKind) (rules.Kind, bool) {
	return rules.Kind{Namespaced: true, HasStatus: true}, true
}

// oneKey is a ring that does not change.
type oneKey struct{ ring *keyring.Keyring }

func (k oneKey) Keyring() *keyring.Keyring { return k.ring }

// runRecords runs a store of records in a namespace of the test, and returns how to wait until a record is as it should be.
func runRecords(t *testing.T) (records *record.Store, written func(id string) (record.Record, bool)) {
	t.Helper()
	config := controlplanetest.Config(t)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keyring.Generate()
	if err != nil {
		t.Fatal(err)
	}
	changed := make(chan string, 100)
	records = record.New(record.Options{
		Client: client, Namespace: controlplanetest.Namespace(t, config), Keys: oneKey{keys}, Changed: func(id string) { changed <- id }, Annotated: func() {},
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); records.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return records, func(id string) (record.Record, bool) {
		for records.IsPending(id) {
			<-changed
		}
		return records.Get(id)
	}
}

// Whoever was about to do something for an operator when another one took its place may
// do it after that: a worker, or what an informer or a record wakes. What is kept of the
// rule is the other one's then.
func TestLateWorkForAnOperatorThatWasReplaced(t *testing.T) {
	t.Parallel()
	operatorOf := func(color string) *operator.Operator {
		text := fmt.Sprintf("apiVersion: %s\nkind: Rule\nmetadata: {name: r}\nspec:\n  parent: {apiVersion: v1, kind: ConfigMap}\n"+
			"  status: {color: %s}\n", syntax.APIVersion, color)
		docs, findings := syntax.Decode("r", []byte(text))
		if len(docs.Rules) != 1 {
			t.Fatal(findings)
		}
		program, findings := rules.Compile(docs.Rules[0], rules.Options{Kinds: anyKind{}})
		if program == nil {
			t.Fatal(findings)
		}
		return &operator.Operator{
			Plan:  &operator.Plan{ID: "id", Name: types.NamespacedName{Namespace: "kanon", Name: "r"}, Program: program},
			Guard: guard.New(guard.Revision{Hash: program.Hash}),
		}
	}
	parents := queue.Keys{aParent(): true}
	for name, test := range map[string]struct {
		removed bool
		late    func(e *Engine, before *operator.Operator)
	}{
		"it begins to guard":             {late: func(e *Engine, older *operator.Operator) { e.guards.begin(older, parents) }},
		"it lets its revision delete":    {late: func(e *Engine, older *operator.Operator) { e.guards.requestPermission(older) }},
		"it is done with the last of it": {true, func(e *Engine, cleared *operator.Operator) { e.finishRemoval(cleared) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &Engine{patches: patching.New(patching.Options{}), inbox: catalog.NewInbox(nil, 0)}
			var written func(id string) (record.Record, bool)
			e.records, written = runRecords(t)
			e.guards = &guards{engine: e}
			start := func(op *operator.Operator) {
				e.running.Store(operator.NewSet([]*operator.Operator{op}))
				e.records.Update(op.ID, op.UpdateRecord)
				if op.Removal == nil {
					e.guards.confirm(op, nil)
					e.guards.begin(op, parents)
				}
			}
			before, newer := operatorOf("red"), operatorOf("blue")
			if test.removed {
				before.Removal = &operator.Removal{}
			}
			start(before)
			written("id")
			start(newer)
			e.guards.end(before)
			e.guards.requestPermission(newer)

			test.late(e, before)
			if e.guards.Decide(before, aParent(), nil) {
				t.Error("the revision that was replaced may delete")
			}
			if !e.guards.Decide(newer, aParent(), nil) {
				t.Error("the guard is not that of the revision that runs: nothing would ever be pruned")
			}
			stored, ok := written("id")
			if !ok {
				t.Fatal("the record of a rule that exists is deleted")
			}
			if stored.Revision != newer.Program.Hash {
				t.Error("the record does not permit the revision that runs to delete")
			}
		})
	}
}

// aParent is the work on some parent.
func aParent() queue.Key {
	return queue.Key{Rule: "r", Parent: types.NamespacedName{Namespace: "home", Name: "n"}}
}
