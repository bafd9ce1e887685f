package flow

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// fakeNames has one variable, which stands for a lookup, and one lookup, which may be null.
type fakeNames struct{ lookup syntax.Lookup }

func (f *fakeNames) Origin(name string) *Origin {
	if name == "item" {
		return later()
	}
	return nil
}

func (f *fakeNames) Variable(name string) *Variable {
	switch name {
	case "db":
		return &Variable{Origin: later(), Uses: &Uses{Nodes: []Ref{{Root: RootLookups, ID: "db"}}}, StandsFor: "lookups.db.status"}
	case "age":
		return &Variable{Origin: clocked(1), Uses: &Uses{}}
	}
	return nil
}

func (f *fakeNames) Lookup(id string) *Lookup {
	if id != "db" {
		return nil
	}
	return &Lookup{Lookup: &f.lookup, Uses: &Uses{}, Guard: &Guard{}}
}

func (f *fakeNames) Members(root string) []string {
	return map[string][]string{RootVariables: {"age", "db"}, RootLookups: {"db"}, RootChildren: {"web"}}[root]
}

func (f *fakeNames) RandomHint() string { return "" }

// analyze analyzes an expression of a rule with a child web.
func analyze(t *testing.T, text string, report func(finding string)) *Analysis {
	t.Helper()
	return Analyze(Input{
		Expr: parse(t, text), Rule: &syntax.Rule{}, Children: map[string]*syntax.Child{"web": {ID: "web"}}, Names: &fakeNames{},
		Scope:    Scope{Place: "here", AllowChildren: true, MayMove: true},
		Position: func(int) diagnostic.Position { return diagnostic.Position{} },
		Report: func(_ int, _ diagnostic.Code, format string, args ...any) *diagnostic.Finding {
			report(fmt.Sprintf(format, args...))
			return &diagnostic.Finding{}
		},
	})
}

// Which of what an expression reads of the parent is changed by a write of its status?
func TestOwnReads(t *testing.T) {
	t.Parallel()
	none, status, version, both := OwnReads{}, OwnReads{Status: true}, OwnReads{Version: true}, OwnReads{Status: true, Version: true}
	for text, want := range map[string]OwnReads{
		"parent.spec.a":                                       none,
		"parent.metadata.name":                                none,
		"parent.metadata.?labels[?'a']":                       none,
		"parent['metadata'].generation":                       none,
		"has(parent.metadata.annotations)":                    none,
		"parent.metadata.labels.map(k, k)":                    none,
		"item.status":                                         none,
		"children.web.metadata.resourceVersion":               none,
		"cel.bind(m, parent.metadata, m.name)":                none,
		"(true ? parent : parent).spec.a":                     none,
		"parent.status.a":                                     status,
		"parent.?status.?a.orValue('')":                       status,
		"parent[?'status']":                                   status,
		"has(parent.status)":                                  status,
		"cel.bind(p, parent, p.status.a)":                     status,
		"parent.metadata.resourceVersion":                     version,
		"parent.metadata.?managedFields":                      version,
		"parent.metadata":                                     version,
		"parent.metadata[parent.spec.a]":                      version,
		"parent.metadata.map(k, k)":                           version,
		"cel.bind(m, parent.metadata, m.resourceVersion)":     version,
		"(true ? parent.metadata : parent.spec).uid":          version,
		"{'m': parent.metadata}.m.name":                       version,
		"parent":                                              both,
		"[parent].map(p, p.spec.a)":                           both,
		"parent[parent.spec.a]":                               both,
		"parent == null":                                      both,
		"(true ? parent : item).spec.a":                       both,
		"parent.status.a + parent.metadata.resourceVersion":   both,
		"optional.of(parent).orValue({}).metadata.generation": both,
	} {
		a := analyze(t, text, func(finding string) { t.Errorf("%s: %s", text, finding) })
		if a.Own != want {
			t.Errorf("%s reads %+v, want %+v", text, a.Own, want)
		}
	}
}

// What does an expression read, and what follows if a read finds nothing?
func TestAnalyze(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"parent.spec.a":                  "fails without parent.spec; fails without parent.spec.a",
		"parent.status.a":                "waits for parent.status.a",
		"children.web.status.ip":         "waits for children.web.status.ip",
		"has(children.web.status)":       "waits for has(children.web.status)",
		"children.web.?status.ip":        "waits for children.web; waits for children.web.?status.ip",
		"variables.db.host":              "fails without variables.db; waits for lookups.db.status.host",
		"item.name":                      "waits for item.name",
		"parent.spec.map(x, x.b)":        "fails without parent.spec; fails without x.b",
		"[1, 2].map(x, children.web.a)":  "waits for children.web.a",
		"variables.age":                  "fails without variables.age; moves",
		"variables.age > duration('1h')": "fails without variables.age",
		"string(variables.age)":          "fails without variables.age; moves",
		"true ? variables.age : 1":       "fails without variables.age; moves",
		"children.wbe.spec":              `there is no child called "wbe"`,
		"variables.bd.host":              `there is no variable called "bd"`,
		"lookups.bd.spec":                `there is no lookup called "bd"`,
		"children":                       "children must be followed by a name, as in children.web",
		"children[parent.spec.a]":        "children must be followed by a name that is written out, as in children.web",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			var found []string
			a := analyze(t, text, func(finding string) { found = append(found, finding) })
			reads := a.Reads()
			if len(found) > 0 {
				reads = nil // the expression is never evaluated
			}
			for _, r := range reads {
				found = append(found, map[bool]string{true: "waits for ", false: "fails without "}[r.Waits]+r.Text)
			}
			if a.Origin.Moves() {
				found = append(found, "moves")
			}
			got := strings.Join(slices.Compact(found), "; ")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
