package operator_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/rules/program"
)

// Messages about a tenant's rule name other rules in its namespace, and no rules elsewhere. Messages about a rule in Kanon's own namespace name all.
func TestTitleFor(t *testing.T) {
	t.Parallel()
	rule := func(name, namespace string) *operator.Operator {
		return &operator.Operator{Plan: &operator.Plan{
			ID: "idof" + name, Name: types.NamespacedName{Namespace: namespace, Name: name}, Program: &program.Program{Confined: namespace != "kanon-system"},
		}}
	}
	own, a, beside, b := rule("own", "kanon-system"), rule("a", "team-a"), rule("beside", "team-a"), rule("b", "team-b")
	var running operator.Running
	running.Store(operator.NewSet([]*operator.Operator{own, a, beside, b}))
	const hidden = "a rule outside of this namespace"
	for _, test := range []struct {
		reader *operator.Operator
		id     string
		want   string
	}{
		{own, "a", "rule team-a/a"},
		{a, "a", "rule team-a/a"},
		{a, "beside", "rule team-a/beside"},
		{a, "b", hidden},
		{a, "own", hidden},
		{a, "gone", "rule idofgone"}, // the id is a hash
	} {
		title, known := running.TitleFor(test.reader, "idof"+test.id)
		if title != test.want || known != (test.want != hidden) {
			t.Errorf("%s is told %q of %s, known: %t; want %q", test.reader.Name, title, test.id, known, test.want)
		}
		if manager := running.ManagerFor(test.reader, "kanon-status-idof"+test.id); test.id != "gone" && manager != test.want {
			t.Errorf("%s is told %q of the manager of %s, want %q", test.reader.Name, manager, test.id, test.want)
		}
	}
}

// A tenant's rules belong together, and each rule of Kanon's own namespace is by itself.
func TestTenantOf(t *testing.T) {
	t.Parallel()
	rule := func(id, namespace string, confined bool) *operator.Operator {
		return &operator.Operator{Plan: &operator.Plan{
			ID: id, Name: types.NamespacedName{Namespace: namespace, Name: id}, Program: &program.Program{Confined: confined},
		}}
	}
	var running operator.Running
	running.Store(operator.NewSet([]*operator.Operator{rule("a", "team", true), rule("b", "team", true), rule("c", "kanon-system", false), rule("d", "kanon-system", false)}))
	for id, want := range map[string]string{"a": "team", "b": "team", "c": "c", "d": "d", "gone": "gone"} {
		if got := running.TenantOf(id); got != want {
			t.Errorf("%s is of %q, want %q", id, got, want)
		}
	}
}
