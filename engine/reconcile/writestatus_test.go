package reconcile

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/applytest"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules/program"
)

// TestRemember holds after which writes of the status the event of the write needs no reconcile. The informer may miss
// what happened before the write: then the answer is the only place that shows it.
func TestRemember(t *testing.T) {
	t.Parallel()
	const (
		evaluated = `{apiVersion: test/v1, kind: Thing, metadata: {name: a, namespace: n, uid: u, resourceVersion: "1"}, spec: {replicas: 1}}`
		answer    = `{apiVersion: test/v1, kind: Thing, metadata: {name: a, namespace: n, uid: u, resourceVersion: "3"}, spec: {replicas: 1}, status: {url: here}}`
	)
	for name, test := range map[string]struct {
		old, new string // replace a part of the answer
		change   func(*report)
		want     bool
	}{
		"nothing but the status":                      {want: true},
		"another status":                              {old: "url: here", new: "url: there"},
		"somebody else's status, too":                 {old: "url: here", new: "url: here, other: x", want: true},
		"a spec that no event may show":               {old: "replicas: 1", new: "replicas: 2"},
		"a deletion that no event may show":           {old: "uid: u", new: `uid: u, deletionTimestamp: "2026-01-01T00:00:00Z"`},
		"a label that no event may show":              {old: "uid: u", new: "uid: u, labels: {a: b}"},
		"another version was evaluated":               {change: func(s *report) { s.p.evaluated = "0" }},
		"a parent that is being deleted":              {old: "uid: u", new: `uid: u, deletionTimestamp: "2026-01-01T00:00:00Z"`, change: deleting},
		"a rule that reads the status":                {change: func(s *report) { s.p.op.Program.ReadsStatus = true }},
		"a rule that reads the version":               {change: func(s *report) { s.p.op.Program.ReadsVersion = true }},
		"a kind without the subresource":              {change: func(s *report) { s.p.op.Parent.HasStatus = false }},
		"a parent that the informer does not show":    {change: func(s *report) { s.p.op.ParentKey.Namespace = "other" }},
		"a status that is removed, and not a new one": {old: "status: {url: here}", new: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := &operator.Operator{Plan: &operator.Plan{ID: "x", Program: &program.Program{}, Parent: restmapping.Kind{HasStatus: true}}}
			s := &report{p: &pass{
				r: &Reconciler{Options: Options{
					Statuses: apply.NewStatusWriter(apply.NewAPI(nil, fakeSchemas{applytest.Converter(t, applytest.Schemas)}, applytest.NoStatus)),
					Parents:  conditions.NewStore(),
				}},
				op: op, key: queue.Key{Rule: "x", Parent: types.NamespacedName{Namespace: "n", Name: "a"}},
				parent: applytest.Object(t, evaluated), evaluated: "1",
			}}
			if test.change != nil {
				test.change(s)
			}
			entry := applytest.Managed(t, op.StatusManager(), "Apply", "test/v1", `{"f:status": {"f:url": {}}}`)
			entry["subresource"] = "status"
			live := applytest.WithManaged(applytest.Object(t, strings.Replace(answer, test.old, test.new, 1)), entry)
			content := map[string]any{"url": "here"}
			if _, ok := live.Object["status"]; !ok {
				content = nil
				live.SetManagedFields(nil) // an empty status is in place
			}
			s.remember(t.Context(), live, content)
			if s.p.r.Parents.TakeReported(s.p.key, conditions.StatusWrite{UID: "u", Before: "2", After: "3"}) {
				t.Error("the event of a change from another version needs no reconcile")
			}
			write := conditions.StatusWrite{UID: "u", Before: "1", After: "3"}
			if got := s.p.r.Parents.TakeReported(s.p.key, write); got != test.want {
				t.Errorf("its event needs no reconcile: %t, want %t", got, test.want)
			}
			left := make(queue.Keys)
			if s.p.r.Parents.AddKeys("x", left); s.p.r.Parents.TakeReported(s.p.key, write) || len(left) > 0 {
				t.Error("it is remembered for a second event")
			}
		})
	}
}

func deleting(s *report) {
	now := metav1.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s.p.parent.SetDeletionTimestamp(&now)
}

// fakeSchemas has one converter for all kinds.
type fakeSchemas struct{ known managedfields.TypeConverter }

func (f fakeSchemas) Converter(context.Context, schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	return f.known, nil
}

func (fakeSchemas) Recheck(context.Context, schema.GroupVersion) (bool, error) { return false, nil }
