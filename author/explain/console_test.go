package explain_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/author/explain"
	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/program"
)

const rule = `apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: db}
spec:
  parent: {apiVersion: shop.example.com/v1, kind: Database}
  variables:
    - {name: labels, value: {app: "${parent.metadata.name}"}}
    - {name: user, value: "${string(lookups.login.data.user)}"}
    - {name: costly, value: "${lists.range(1000).map(x, x * 2).sum()}"}
  lookups:
    - {id: login, apiVersion: v1, kind: Secret, name: login}
    - {id: later, apiVersion: v1, kind: ConfigMap, name: later}
  children:
    - id: shard
      forEach: [{name: n, in: "${['a', 'b']}"}]
      variables: [{name: title, value: "shard ${n}"}]
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}-${n}"}, data: {title: "${variables.title}"}}
  status: {first: "${children.shard[0].metadata.name}"}
`

const objects = `apiVersion: shop.example.com/v1
kind: Database
metadata: {name: main, namespace: shop, uid: 0b5c}
data: {a: one, port: "80"}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: shop}
data: {user: dG9wc2VjcmV0}
`

// session is one of the rule above.
func session(t *testing.T, change func(*explain.SessionOptions)) *explain.Session {
	t.Helper()
	s, err := open(t, change)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func open(t *testing.T, change func(*explain.SessionOptions)) (*explain.Session, error) {
	t.Helper()
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	checked, err := manifests.Check(t.Context(), []manifests.File{{Name: "rule.yaml", Data: []byte(rule)}}, nil, kinds, rules.Options{})
	if err != nil || checked.Findings.HasErrors() {
		t.Fatal(err, checked.Findings)
	}
	world, err := manifests.Objects([]manifests.File{{Name: "objects.yaml", Data: []byte(objects)}})
	if err != nil {
		t.Fatal(err)
	}
	o := explain.SessionOptions{Rule: checked.Decoded[0], Compile: rules.Options{Kinds: kinds, Schemas: kinds}, Evaluate: func(p *program.Program) (*preview.Preview, error) {
		return preview.Evaluate(t.Context(), preview.Input{Program: p, Parent: world[0], With: world[1:], Now: time.Date(2026, 3, 5, 6, 7, 8, 0, time.UTC)})
	}}
	if change != nil {
		change(&o)
	}
	return explain.NewSession(o)
}

// lines are what a prompt prints for some lines: values, and what is said of them.
func lines(t *testing.T, s *explain.Session, text string) string {
	t.Helper()
	var out strings.Builder
	p := &explain.Prompt{Session: s, Out: &out, Err: &out}
	if err := p.Lines(strings.NewReader(text)); err != nil && !errors.Is(err, explain.ErrFailed) {
		t.Fatal(err)
	}
	return out.String()
}

func TestEval(t *testing.T) {
	t.Parallel()
	shard := func(o *explain.SessionOptions) { o.Child, o.Item = "shard", 1 }
	for asked, test := range map[string]struct {
		change func(*explain.SessionOptions)
		want   string
	}{
		`parent.data.a`:                          {want: "one\n# string; cost 0\n"},
		`int(parent.data.port) * 2`:              {want: "160\n# int; cost 2\n"},
		`"80"`:                                   {want: "\"80\"\n# string; cost 0\n"},
		`variables.labels`:                       {want: "app: main\n# map; cost 0\n"},
		`variables.costly`:                       {want: "999000\n# int; cost 0\n"}, // what the variable costs is not counted
		`children.shard.map(s, s.metadata.name)`: {want: "- main-a\n- main-b\n# list; cost 6\n"},
		`status.first`:                           {want: "main-a\n# string; cost 0\n"},
		`now`:                                    {want: "\"2026-03-05T06:07:08Z\"\n# timestamp; cost 0\n"},
		`now - timestamp("2026-03-05T06:00:00Z")`: {want: "428s\n# duration; cost 1\n"},
		`optional.of(1)`:                    {want: "1\n# optional int; cost 1\n"},
		`parent.?nothing`:                   {want: "# no value: in a template, the field would be left out; cost 0\n"},
		`null`:                              {want: "null\n# null; cost 0\n"},
		`bytes("abc")`:                      {want: "YWJj\n# bytes; cost 0\n"},
		`type(1.5)`:                         {want: "double\n# type; cost 0\n"},
		`http://${parent.metadata.name}:80`: {want: "http://main:80\n# string; cost 0\n"},
		`${parent.data.a}`:                  {want: "one\n# string; cost 0\n"},
		`{a: "${parent.data.a}", b: [1, "${...[2, 3]}"]}`: {want: "a: one\nb:\n- 1\n- 2\n- 3\n# map; cost 0\n"},
		`n + " of " + variables.title`:                    {change: shard, want: "b of shard b\n# string; cost 3\n"},
		`self.metadata.name`:                              {change: shard, want: "main-b\n# string; cost 0\n"},
		`lookups.login.data.user`:                         {want: "(hidden)\n# bytes, which comes from a Secret; cost 0\n"},
		`variables.user + "!"`:                            {want: "(hidden)\n# string, which comes from a Secret; cost 2\n"},
		`{a: "${variables.user}"}`:                        {want: "(hidden)\n# map, which comes from a Secret; cost 0\n"},
		`lookups.login.metadata.name`:                     {want: "login\n# string; cost 0\n"},
		`quantity("1Gi")`: {want: `expression:1:1: error: a value of type kubernetes.Quantity cannot be written into an object; make it a string with string(…)
    1 | quantity("1Gi")
      | ^~~~~~~~~~~~~~~
`},
		`int(variables.user)`: {want: `expression:1:1: error: it fails; why is not shown, because it reads a Secret
    1 | int(variables.user)
      | ^~~~~~~~~~~~~~~~~~~
`},
		`lookups.later.data.a`: {want: `expression:1:1: waits: lookups.later does not exist yet: ConfigMap "shop/later"
    1 | lookups.later.data.a
      | ^~~~~~~~~~~~~
`},
		`"x" + parent.data.b`: {want: `expression:1:7: error: parent.data.b is missing
    1 | "x" + parent.data.b
      |       ^~~~~~~~~~~~~
      hint: read it with ?. and give a default with orValue(…), or test it with has(…)
`},
		`1 + `: {want: `expression:1:4: error: the expression ends too early [KN0303]
    1 | 1 +
      |    ^
`},
		`a-${parnt.x}`: {want: `expression:1:5: error: unknown name "parnt" [KN0204]
    1 | a-${parnt.x}
      |     ^~~~~
      hint: did you mean "parent"?
`},
		`lists.range(100000).map(x, lists.range(100000).size()).size()`: {want: `expression:1:1: error: this costs more than the 1,000,000 allowed by --max-expression-cost [KN0313]
    1 | lists.range(100000).map(x, lists.range(100000).size()).size()
      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
      hint: go over shorter lists, or compute a part of it once, in a variable
`},
		`parent.metadata.name`: {change: func(o *explain.SessionOptions) { o.NoParent = true }, want: `expression:1:1: error: parent is not given
    1 | parent.metadata.name
      | ^~~~~~
      hint: name a parent with --parent
`},
		`:nope`:         {want: "there is no command :nope; the commands are :help and :quit\n"},
		`# a comment`:   {want: ""},
		`:help sha25`:   {want: "there is no function called \"sha25\"; did you mean \"sha256\"?\n"},
		`:help join`:    {want: "`list.join(sep)`: the strings joined\n\n    [\"a\", \"b\"].join(\"-\")\n    // = \"a-b\"\n"},
		`:help lookups`: {want: "lookups: what the rule looks up, by the ids of the lookups\n\n    later\n    login\n"},
	} {
		t.Run(asked, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, lines(t, session(t, test.change), asked)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Of a Secret nothing is shown, whatever is asked of it, in whatever form.
func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	s := session(t, nil)
	for _, asked := range []string{
		"lookups.login", "lookups.login.data", "lookups.login.data.map(k, k)", "[lookups.login][0].data.user", "string(lookups.login.data.user)",
		"variables.user", "variables", "${variables.user}", "x-${variables.user}", `{"${variables.user}": 1}`, `["${...[variables.user]}"]`,
		"variables.user == 'topsecret'", "timestamp(variables.user)", "{'a': variables.user}.a",
	} {
		for _, format := range []string{"", "json", "yaml"} {
			var out strings.Builder
			p := &explain.Prompt{Session: s, Out: &out, Err: &out, Format: format}
			if err := p.Once(asked); err != nil && !errors.Is(err, explain.ErrFailed) {
				t.Fatal(err)
			}
			for _, secret := range []string{"dG9wc2VjcmV0", "topsecret\n", "true"} {
				if got := strings.ReplaceAll(out.String(), "hidden: true", ""); strings.Contains(strings.ReplaceAll(got, `"hidden": true`, ""), secret) && !strings.Contains(asked, strings.TrimSpace(secret)) {
					t.Errorf("%s -o %q shows %s:\n%s", asked, format, secret, out.String())
				}
			}
		}
	}
}

func TestScopeOfAChild(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*explain.SessionOptions){
		`the rule has no child called "shrd"; did you mean "shard"?`: func(o *explain.SessionOptions) { o.Child = "shrd" },
		`child shard: shard has 2 items, and the first is 0`:         func(o *explain.SessionOptions) { o.Child, o.Item = "shard", 2 },
	} {
		if _, err := open(t, change); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	s := session(t, nil)
	for line, test := range map[string]struct {
		from int
		want []string
	}{
		"par":                      {0, []string{"parent"}},
		"parent.":                  {7, []string{"apiVersion", "data", "kind", "metadata"}},
		"1 + parent.metadata.na":   {20, []string{"name", "namespace"}},
		"parent.?data.p":           {13, []string{"port"}},
		"variables.":               {10, []string{"costly", "labels", "user"}},
		"[variables.la":            {11, []string{"labels"}},
		"children.shard[0].data.t": {23, []string{"title", "transformList(", "transformMap(", "transformMapEntry("}},
		"parent.data.a.starts":     {14, []string{"startsWith("}},
		"math.ab":                  {5, []string{"abs("}},
		"sha":                      {0, []string{"sha256("}},
		"f(x).y":                   {5, nil},
		"nobody.":                  {7, nil},
		":he":                      {0, []string{":help"}},
		":help deep":               {6, []string{"deepMerge"}},
	} {
		from, words := s.Complete(line, len(line))
		if diff := cmp.Diff(test.want, words, cmp.Transformer("empty", func(w []string) []string { return append([]string{}, w...) })); diff != "" || from != test.from {
			t.Errorf("%s: from %d, (-want +got):\n%s", line, from, diff)
		}
	}
}

// There is help for every function, and the names of the language.
func TestHelp(t *testing.T) {
	t.Parallel()
	s := session(t, nil)
	env, err := celenv.Shared()
	if err != nil {
		t.Fatal(err)
	}
	names := append(env.FunctionNames(), s.Names()...)
	if len(names) < 100 {
		t.Fatalf("there are %d names", len(names))
	}
	for _, name := range names {
		if text := s.Help(name); strings.Contains(text, "there is no function") || len(text) < len(name)+3 {
			t.Errorf(":help %s says %q", name, text)
		}
	}
	overview := s.Help("")
	for _, word := range []string{"parent", "variables", "lookups", "children", "now", ":help NAME"} {
		if !strings.Contains(overview, "  "+word) {
			t.Errorf(":help does not have %s", word)
		}
	}
}
