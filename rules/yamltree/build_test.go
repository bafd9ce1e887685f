package yamltree

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/rules/diagnostic"
)

// TestBuild gives what a document comes to as JSON, and the codes of what is wrong in it.
func TestBuild(t *testing.T) {
	t.Parallel()
	bomb := "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1]\n"
	for i := range 9 {
		bomb += strings.NewReplacer("#", string(rune('0'+i)), "+", string(rune('1'+i))).Replace("a+: &a+ [*a#, *a#, *a#, *a#, *a#, *a#]\n")
	}
	for name, test := range map[string]struct {
		text, want string
		codes      []diagnostic.Code
	}{
		"types":                       {text: `{a: 1, b: 1.5, c: true, d: null, e: "1", f: 2020-01-01}`, want: `{"a":1,"b":1.5,"c":true,"d":null,"e":"1","f":"2020-01-01"}`},
		"a key is text":               {text: `{1: a, true: b}`, want: `{"1":"a","true":"b"}`},
		"an alias":                    {text: `{a: &x [1], b: *x}`, want: `{"a":[1],"b":[1]}`},
		"a merge, after what is here": {text: "a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}", want: `{"a":{"k":1,"l":2},"b":{"k":3,"l":2}}`},
		"the first merge wins":        {text: "b: {<<: [{k: 1}, {k: 2, l: 2}]}", want: `{"b":{"k":1,"l":2}}`},
		"a merge of no mapping":       {text: "{a: 1, <<: 2}", want: `{"a":1}`, codes: []diagnostic.Code{diagnostic.CodeBadMerge}},
		"a field twice":               {text: `{a: 1, a: 2}`, want: `{"a":1}`, codes: []diagnostic.Code{diagnostic.CodeDuplicateKey}},
		"a key that is a list":        {text: `{[a]: 1, b: 2}`, want: `{"b":2}`, codes: []diagnostic.Code{diagnostic.CodeBadKey}},
		"a number that JSON lacks":    {text: `{a: .inf, b: 2}`, want: `{"b":2}`, codes: []diagnostic.Code{diagnostic.CodeBadScalar}},
		"an unknown tag":              {text: `[!x a, b]`, want: `["b"]`, codes: []diagnostic.Code{diagnostic.CodeBadScalar}},
		"an alias of itself":          {text: `{a: &x [*x]}`, want: `{"a":[]}`, codes: []diagnostic.Code{diagnostic.CodeEndlessAlias}},
		"too deep":                    {text: strings.Repeat("[", 200) + strings.Repeat("]", 200), want: strings.Repeat("[", 101) + strings.Repeat("]", 101), codes: []diagnostic.Code{diagnostic.CodeTooDeep}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := New("f", []byte(test.text))
			roots, finding := src.Parse(src.Documents()[0])
			if finding != nil {
				t.Fatal(finding)
			}
			var findings diagnostic.List
			got, err := json.Marshal(src.Build(roots[0], &findings).Plain())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var codes []diagnostic.Code
			for _, f := range findings {
				codes = append(codes, f.Code)
			}
			if diff := cmp.Diff(test.codes, codes); diff != "" {
				t.Errorf("codes (-want +got):\n%s", diff)
			}
		})
	}
	src := New("f", []byte(bomb))
	roots, _ := src.Parse(src.Documents()[0])
	var findings diagnostic.List
	if n := src.Build(roots[0], &findings); len(findings) == 0 || findings[0].Code != diagnostic.CodeTooManyValues || n != nil && n.Size > maxNodes {
		t.Errorf("aliases of aliases give %v", findings)
	}
}

// A node that lacks something says so, up to the root, and names the fields.
func TestPartial(t *testing.T) {
	t.Parallel()
	src := New("f", []byte("a: {b: .nan, c: 1}\nd: 2"))
	roots, _ := src.Parse(src.Documents()[0])
	var findings diagnostic.List
	root := src.Build(roots[0], &findings)
	a := root.Get("a")
	if !root.Partial || !a.Partial || !a.Has("b") || a.Get("b") != nil || root.Get("d").Partial || len(root.Lost) > 0 {
		t.Errorf("%+v", root)
	}
}
