package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

const manifest = `# a Deployment of no concern, with what a rule could not have
apiVersion: apps/v1
kind: Deployment
metadata: {name: x, name: y}
spec: .nan
---
{{ if .Values.rules }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: rules}
data:
  block.yaml: |
    apiVersion: kanon.dev/v1alpha1
    kind: Rule
    metadata: {name: block}
    spec:
      parent: {apiVersion: v1, kind: Pod}
      status:
        note: |
          日本 ${parnt.spec.x}
        tabbed: "a	${parent.spec.y +}"
  folded.yml: >
    {apiVersion: kanon.dev/v1alpha1, kind: Rule, metadata: {name: folded},

    spec: {parent: {apiVersion: v1, kind: Pod}, staus: {}}}
  quoted.yaml: "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: quoted}\nspec: {parent: {kind: ConfigMap}}\n"
  app.yaml: |
    server: {port: 80}
  README: "apiVersion: kanon.dev/v1alpha1"
---
apiVersion: v1
kind: List
items:
- apiVersion: kanon.dev/v1alpha1
  kind: Rule
  metadata: {name: listed}
  spec: {parent: {apiVersion: v1, kind: Pod}, status: {x: "${1 +}"}}
- {apiVersion: v1, kind: Secret}
---
apiVersion: kanon.dev/v1alpha1
kind: Rul
metadata: {name: misspelt}
spec: {parent: {apiVersion: v1, kind: ConfigMap}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: labelled, labels: {kanon.dev/rules: "true"}}
data:
  app.yaml: |
    server: {port: 80}
`

// TestManifest holds that rules are found among other documents, and that
// findings stand where the file has what is wrong.
func TestManifest(t *testing.T) {
	t.Parallel()
	docs, findings := syntax.DecodeManifest("m.yaml", []byte(manifest))
	var names []string
	for _, r := range slices.Concat(docs.Rules, docs.Partial) {
		_, more := Compile(r, Options{Kinds: testKinds{}})
		findings = append(findings, more...)
		names = append(names, r.Name)
	}
	if diff := cmp.Diff([]string{"block", "listed", "folded", "quoted", "misspelt"}, names); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	var got strings.Builder
	if err := (diagnostic.Printer{}).Print(&got, findings.Sorted()); err != nil {
		t.Fatal(err)
	}
	want := `m.yaml:21:16: error: unknown name "parnt" [KN0204]
   21 |           日本 ${parnt.spec.x}
      |                  ^~~~~
      hint: did you mean "parent"?
m.yaml:22:37: error: the expression ends too early [KN0303]
   22 |         tabbed: "a	${parent.spec.y +}"
      |                   	                 ^
m.yaml:26:49: error: unknown field "staus" in spec [KN0101]
   26 |     spec: {parent: {apiVersion: v1, kind: Pod}, staus: {}}}
      |                                                 ^~~~~
      hint: did you mean "status"?
m.yaml:27:102: error: spec.parent is missing apiVersion [KN0102]
   27 | …quoted.yaml: "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: quoted}\nspec: {parent: {kind: ConfigMap}}\n"
      |                                                                                                     ^
      hint: write the group and the version of the kind, as in apps/v1; the core group has only a version, v1
m.yaml:38:65: error: the expression ends too early [KN0303]
   38 |   spec: {parent: {apiVersion: v1, kind: Pod}, status: {x: "${1 +}"}}
      |                                                                 ^
m.yaml:42:7: error: a document of kind "Rul"; only Rule and CustomResourceDefinition are allowed here [KN0004]
   42 | kind: Rul
      |       ^~~
      hint: did you mean "Rule"?
m.yaml:51:5: error: a document needs apiVersion and kind, here kanon.dev/v1alpha1 and Rule [KN0003]
   51 |     server: {port: 80}
      |     ^
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// In a file, documents that are certainly of other kinds are skipped; what may be meant for a rule is not.
func TestFile(t *testing.T) {
	t.Parallel()
	const rule = "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: r}\nspec: {parent: {apiVersion: v1, kind: Pod}}\n---\n"
	for name, test := range map[string]struct {
		document string
		want     []diagnostic.Code
	}{
		"a parent":             {"apiVersion: shop.example.com/v1\nkind: WebApp\nmetadata: {name: a}\nspec: {replicas: 2}\n", nil},
		"a ConfigMap":          {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", nil},
		"a ConfigMap of rules": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {kanon.dev/rules: \"true\"}}\n", []diagnostic.Code{diagnostic.CodeForeignKind}},
		"a List of rules": {
			"apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSuffix(rule, "---\n"), "\n", "\n  ") + "\n",
			[]diagnostic.Code{diagnostic.CodeForeignKind},
		},
		"a ConfigMap with the text of a rule": {
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  rule.yaml: |\n    " + strings.ReplaceAll(strings.TrimSuffix(rule, "---\n"), "\n", "\n    ") + "\n",
			[]diagnostic.Code{diagnostic.CodeForeignKind},
		},
		"a parent with an annotation": {"apiVersion: shop.example.com/v1\nkind: WebApp\nmetadata: {name: a, annotations: {kanon.dev/verbosity: \"4\"}}\n", nil},
		"a rule of another kind":      {strings.Replace(rule, "kind: Rule", "kind: Rool", 1), []diagnostic.Code{diagnostic.CodeForeignKind}},
		"a rule of another apiVersion": {
			"apiVersion: rules.example.com/v1\nkind: Policy\nmetadata: {name: a}\nspec: {parent: {apiVersion: v1, kind: Pod}, children: []}\n",
			[]diagnostic.Code{diagnostic.CodeForeignKind},
		},
		"no kind":         {"metadata: {name: a}\n", []diagnostic.Code{diagnostic.CodeNoKind}},
		"broken":          {"kind: [broken\n", []diagnostic.Code{diagnostic.CodeNotYAML}},
		"broken in parts": {"apiVersion: v1\nkind: ConfigMap\nkind: Pod\n", []diagnostic.Code{diagnostic.CodeForeignKind, diagnostic.CodeDuplicateKey}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs, findings := syntax.DecodeFile("f.yaml", []byte(rule+test.document))
			var codes []diagnostic.Code
			for _, f := range findings.Sorted() {
				codes = append(codes, f.Code)
			}
			if diff := cmp.Diff(test.want, codes); diff != "" {
				t.Errorf("findings (-want +got):\n%s\n%v", diff, findings)
			}
			if len(docs.Rules) != 1 {
				t.Errorf("%d rules without mistakes, want 1", len(docs.Rules))
			}
		})
	}
}
