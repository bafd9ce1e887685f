package celenv

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/sets"
)

// knownOverloads has the ways to call each function, for which its declaration was written.
//
//go:embed testdata/overloads.txt
var knownOverloads string

// Every function and operator that an expression can call, with every way to call it,
// has a cost class; and nothing else has.
func TestEveryFunctionIsDeclared(t *testing.T) {
	t.Parallel()
	env := libraries(t)
	own, declared := declarations()
	overloads := map[string][]string{}
	for name, fn := range env.Functions() {
		for _, o := range fn.OverloadDecls() {
			overloads[name] = append(overloads[name], o.ID())
		}
	}
	if len(overloads) < 150 {
		t.Errorf("%d functions, want 150 at the least", len(overloads))
	}
	known := map[string][]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(knownOverloads), "\n") {
		name, ids, _ := strings.Cut(line, ": ")
		known[name] = strings.Fields(ids)
	}
	for name, fn := range own {
		for i := range fn.signatures {
			known[name] = append(known[name], fmt.Sprintf("kanon_%s_%d", name, i))
		}
	}
	for _, wrong := range mismatches(declared, known, overloads) {
		t.Error(wrong)
	}
	for _, m := range env.Macros() { // they become calls, which are declared
		if _, ok := declared[m.Function()]; ok && !slices.Contains([]string{"all", "map"}, m.Function()) {
			t.Errorf("the macro %s is declared as a function", m.Function())
		}
	}
}

// libraries is an environment of CEL's own with all functions.
func libraries(t *testing.T) *cel.Env {
	t.Helper()
	env, err := cel.NewEnv(append(Libraries(), cel.CustomTypeAdapter(Adapter{}))...)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// mismatches lists what the declarations lack of an environment, and what they have too much. known are the ways to call each function
// for which they were written, and overloads those that the environment has.
func mismatches(all map[string]Declaration, known, overloads map[string][]string) []string {
	var wrong []string
	for function, ids := range overloads {
		declared := sets.New(known[function]...)
		for _, id := range ids {
			if !declared.Has(id) {
				wrong = append(wrong, fmt.Sprintf("%s, as %s, is not declared", function, id))
			}
			declared.Delete(id)
		}
		for id := range declared {
			wrong = append(wrong, fmt.Sprintf("%s is declared as %s, and cannot be called like that", function, id))
		}
		if d, ok := all[function]; ok && (d.cost == 0) {
			wrong = append(wrong, function+" is declared without a cost class")
		} else if !ok && len(known[function]) > 0 {
			wrong = append(wrong, function+" has no declaration")
		}
	}
	for function := range all {
		if _, ok := overloads[function]; !ok {
			wrong = append(wrong, function+" is declared, and there is no such function")
		}
	}
	return wrong
}

// What the comparison is for: a library brings a new function, or a new way to call an
// old one.
func TestUndeclared(t *testing.T) {
	t.Parallel()
	all := map[string]Declaration{
		"old":  {cost: costFree},
		"gone": {cost: costFree},
		"half": {},
	}
	known := map[string][]string{"old": {"old_int"}, "gone": {"gone_int"}, "half": {"half_int"}}
	got := mismatches(all, known, map[string][]string{"old": {"old_int", "old_text"}, "new": {"new_int"}, "half": {"half_int"}})
	slices.Sort(got)
	want := []string{
		"gone is declared, and there is no such function",
		"half is declared without a cost class",
		"new, as new_int, is not declared",
		"old, as old_text, is not declared",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
