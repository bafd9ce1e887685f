package flow

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
)

// parse compiles an expression.
func parse(t *testing.T, text string) *celenv.Expression {
	t.Helper()
	env, err := celenv.Shared()
	if err != nil {
		t.Fatal(err)
	}
	x, issues := env.Compile(text, celenv.Scope{RootParent, RootChildren, RootLookups, RootObserved, RootVariables, "item"})
	if x == nil {
		t.Fatalf("%s: %v", text, issues)
	}
	return x
}

func TestPathOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"parent":                     "parent",
		"parent.spec.a":              "parent spec a",
		"parent.spec['a.b'].c":       "parent spec a.b c",
		"parent.?spec[?'a']":         "parent ?spec ?a",
		"parent.spec.items[0].name":  "parent spec items *",
		"variables[parent.spec.a].b": "variables *",
		"string(parent.spec.a)":      "",
		"has(parent.spec.a)":         "parent spec has:a",
	} {
		p := PathOf(parse(t, text).Root())
		got := p.Names()
		for i, step := range p.Steps {
			switch {
			case i+1 >= len(got):
			case step.Optional:
				got[i+1] = "?" + got[i+1]
			case step.Asks:
				got[i+1] = "has:" + got[i+1]
			}
		}
		if diff := cmp.Diff(want, strings.TrimSpace(strings.Join(got, " "))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestGeneratedPath(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"observed.a.?data.?x.orValue('y')":   {"data", "x"},
		"observed.a.?data[?'x'].orValue('')": {"data", "x"},
		"observed.?a.?data.?x.orValue('y')":  {"data", "x"},
		"observed.?a.data.?x.orValue('y')":   {"data", "x"},
		"observed.?b.?data.?x.orValue('y')":  nil,
		"observed.a.data.?x.orValue('y')":    nil,
		"observed.b.?data.?x.orValue('y')":   nil,
		"observed.a.?data[?0].orValue('y')":  nil,
		"observed.a.?data.?x":                nil,
	} {
		if diff := cmp.Diff(want, GeneratedPath(parse(t, text).Root(), "a")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestAlwaysReads(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"observed.a.x":                              true,
		"observed.a['x'] + 'b'":                     true,
		"[observed.a.x]":                            true,
		"observed.a.items.map(i, i)":                true,
		"observed.b.x":                              false,
		"observed.a":                                false,
		"observed.a.?x.orValue(1)":                  false,
		"has(observed.a.x)":                         false,
		"parent.spec.on ? observed.a.x : 1":         false,
		"observed.a.on ? 1 : 2":                     true,
		"observed.a.on && parent.spec.on":           false,
		"parent.?spec.?b.orValue(observed.a.x) + 1": false,
	} {
		if got := AlwaysReads(parse(t, text).Root(), "a"); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}

func TestFieldReads(t *testing.T) {
	t.Parallel()
	x := parse(t, "has(parent.spec.a) ? lookups.db.status[item.key] : variables.v + item.name")
	var got []string
	for _, r := range FieldReads(x, func(name string) bool { return name == "item" }, func(int64) diagnostic.Position { return diagnostic.Position{} }) {
		text := strings.Join(append([]string{r.Root}, r.path...), " ")
		if r.asks {
			text += "?"
		}
		got = append(got, text)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"item key", "item name", "lookups.db status *", "parent spec a?"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSort(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		needs  [][]int
		order  []int
		cycles [][]int
	}{
		"their own order": {needs: [][]int{{}, {}, {}}, order: []int{0, 1, 2}},
		"as needed":       {needs: [][]int{{2}, {}, {1}}, order: []int{1, 2, 0}},
		"a cycle":         {needs: [][]int{{1}, {2}, {0}}, order: []int{2, 1, 0}, cycles: [][]int{{0, 1, 2, 0}}},
		"itself":          {needs: [][]int{{0}}, order: []int{0}, cycles: [][]int{{0, 0}}},
	} {
		order, cycles := Sort(test.needs)
		if diff := cmp.Diff(test.order, order); diff != "" {
			t.Errorf("%s: order (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(test.cycles, cycles); diff != "" {
			t.Errorf("%s: cycles (-want +got):\n%s", name, diff)
		}
	}
}

// A condition ensures that a node exists if it asks for it, or has all terms of its condition.
func TestGuards(t *testing.T) {
	t.Parallel()
	child := GuardOf(parse(t, "parent.spec.a && parent.spec.b"), &Uses{})
	for text, want := range map[string]bool{
		"parent.spec.b && parent.spec.a":                    true,
		"parent.spec.c && (parent.spec.a && parent.spec.b)": true,
		"parent.spec.a": false,
		"parent.spec.a && parent.spec.b || parent.spec.c": false,
	} {
		by := GuardOf(parse(t, text), &Uses{})
		if got := Ensured(Ref{Root: RootChildren, ID: "x"}, &by, &child); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
	asks := GuardOf(parse(t, "has(children.x)"), &Uses{Nodes: []Ref{{Root: RootChildren, ID: "x"}}})
	if !Ensured(Ref{Root: RootChildren, ID: "x"}, &asks, &child) {
		t.Error("a condition that asks for the node does not ensure it")
	}
}
