package engine

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/contributions"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/rules"
)

// anyKind has every kind, without a cluster.
type anyKind struct{}

func (anyKind) Lookup(schema.GroupVersionKind) (rules.Kind, bool) {
	return rules.Kind{Namespaced: true, HasStatus: true}, true
}

// Whoever was about to do something for an operator when another one took its place may
// do it after that: a worker, or what an informer or a record wakes. What is kept of the
// rule is the other one's then.
func TestLateWorkForAnOperatorThatWasReplaced(t *testing.T) {
	t.Parallel()
	operatorOf := func(color string) *operator {
		text := fmt.Sprintf("apiVersion: %s\nkind: Rule\nmetadata: {name: r}\nspec:\n  parent: {apiVersion: v1, kind: ConfigMap}\n"+
			"  status: {color: %s}\n", rules.APIVersion, color)
		docs, findings := rules.Decode("r", []byte(text))
		if len(docs.Rules) != 1 {
			t.Fatal(findings)
		}
		program, findings := rules.Compile(docs.Rules[0], rules.Options{Kinds: anyKind{}})
		if program == nil {
			t.Fatal(findings)
		}
		return &operator{id: "id", name: types.NamespacedName{Namespace: "kanon", Name: "r"}, program: program}
	}
	older, newer, parents := operatorOf("red"), operatorOf("blue"), queue.Keys{aParent(): true}
	cleared := operatorOf("red")
	cleared.removal = &removal{begun: true}
	for name, test := range map[string]struct {
		before *operator
		late   func(e *Engine)
	}{
		"it begins to guard":             {older, func(e *Engine) { e.guard(older, parents) }},
		"it lets its revision delete":    {older, func(e *Engine) { e.allow(older) }},
		"it is done with the last of it": {cleared, func(e *Engine) { e.finish(cleared) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &Engine{
				guards: newGuards(), contributions: contributions.New[conditions.Problem](), retirements: newRetirements(), inbox: catalog.NewInbox(0),
				records: newRecords(nil, "kanon", nil, func(string) {}),
			}
			start := func(op *operator) {
				e.running.store(newOperators([]*operator{op}))
				e.records.want(op.id, op.enter)
				if op.removal == nil {
					e.guard(op, parents)
				}
			}
			start(test.before)
			record := e.records.byID["id"]
			record.object, record.stored = &unstructured.Unstructured{}, record.wanted.clone()
			start(newer)
			e.allow(newer)

			test.late(e)
			if !e.guards.byRule["id"].pending[aParent()] || e.guards.byRule["id"].revision != newer.program.Hash() {
				t.Error("the guard is not that of the revision that runs: nothing would ever be pruned")
			}
			if record.wanted.Revision != newer.program.Hash() {
				t.Error("the record is not wanted to say that the revision that runs may delete")
			}
			if record.remove {
				t.Error("the record of a rule that is there is removed")
			}
		})
	}
}
