package syntax_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// Of the lines of a rule that people are shown, none has a value of a Secret, however YAML has it.
func TestHideSecrets(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ secret, want string }{
		"plain":                      {"data: {a: topsecret, b: 'topsecret', c: \"topsecret\"}", "data: {a: *********, b: '*********', c: \"*********\"}"},
		"a number":                   {"stringData: {a: 12345, b: true}", "stringData: {a: *****, b: ****}"},
		"expressions":                {`stringData: {a: "top${x}sec${y}ret", b: "${x}"}`, `stringData: {a: "***${x}***${y}***", b: "${x}"}`},
		"no expression":              {`stringData: {a: "$${top}"}`, `stringData: {a: "*******"}`},
		"texts in expressions":       {`stringData: {a: "${x + 'top' + r'secret' + y['key']}"}`, `stringData: {a: "${x + ***** + r******** + y['key']}"}`},
		"one that is never closed":   {`stringData: {a: "topsecret ${x"}`, `stringData: {a: "*************"}`},
		"a block":                    {"stringData:\n  a: |\n    topsecret ${x}\n\n    topsecret\n  b: >-\n    topsecret", "stringData:\n  a: |\n    ********* ${x}\n\n    *********\n  b: >-\n    *********"},
		"several lines":              {"stringData:\n  a: top\n    secret\n  b: \"top\n    secret\"", "stringData:\n  a: ***\n    ******\n  b: \"***\n    ******\""},
		"escapes":                    {`stringData: {a: "t\x6fp\tsecret ${x}"}`, `stringData: {a: "************** ${x}"}`},
		"an anchor":                  {"stringData: {a: &x topsecret, b: *x}", "stringData: {a: &x *********, b: *x}"},
		"in a list":                  {"stringData: {a: [topsecret]}", "stringData: {a: [*********]}"},
		"a field that is misspelt":   {"stringdata: {a: topsecret}", "stringdata: {a: *********}"},
		"what is no value":           {"type: Opaque\nmetadata: {name: shown}\nimmutable: true", "type: Opaque\nmetadata: {name: shown}\nimmutable: true"},
		"wide characters":            {"stringData: {a: 日本語, b: x}", "stringData: {a: ***, b: *}"},
		"an expression for it all":   {"data: ${x}", "data: ${x}"},
		"null, and the empty string": {"stringData: {a: null, b: ''}", "stringData: {a: null, b: ''}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			head := "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: r}\nspec:\n  parent: {apiVersion: v1, kind: ConfigMap}\n  children:\n  - id: a\n    template:\n      apiVersion: v1\n      kind: Secret\n"
			indented := "      " + strings.ReplaceAll(tc.secret, "\n", "\n      ")
			docs, findings := syntax.Decode("rule.yaml", []byte(head+indented))
			all := append(docs.Rules, docs.Partial...)
			if len(all) != 1 {
				t.Fatal(findings)
			}
			var got []string
			for i := range strings.Split(tc.secret, "\n") {
				got = append(got, strings.TrimPrefix(all[0].Source.ShownAt(diagnostic.Position{Line: strings.Count(head, "\n") + 1 + i}), "      "))
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
