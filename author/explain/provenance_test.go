package explain_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/author/explain"
	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

var update = flag.Bool("update", false, "rewrite what is wanted in testdata")

const namespace = "kanon-system"

// TestExplain runs the cases of testdata: a rule, a parent, the objects of the cluster, and for each question, KIND NAME [FIELD], what is
// printed. RULE is the id of a rule that is called web.
func TestExplain(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := newCase(t, archive)
			for i := range archive.Files {
				question, ok := strings.CutPrefix(archive.Files[i].Name, "why ")
				if !ok {
					continue
				}
				got := c.answer(t, question)
				for _, secret := range []string{"topsecret", "dG9wc2VjcmV0"} {
					if strings.Contains(got, secret) {
						t.Errorf("why %s shows what a Secret keeps:\n%s", question, got)
					}
				}
				if *update {
					archive.Files[i].Data = []byte(got)
				} else if diff := cmp.Diff(string(archive.Files[i].Data), got); diff != "" {
					t.Errorf("why %s (-want +got):\n%s", question, diff)
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// testCase is one archive.
type testCase struct {
	objects []*unstructured.Unstructured
	rules   []*explain.Rule
}

var now = time.Date(2026, 3, 5, 6, 7, 8, 0, time.UTC)

func newCase(t *testing.T, archive *txtar.Archive) *testCase {
	t.Helper()
	texts := map[string]string{}
	for _, f := range archive.Files {
		texts[f.Name] = strings.ReplaceAll(string(f.Data), "RULE", mark.RuleID(namespace, namespace, "web"))
	}
	read := func(name string) []*unstructured.Unstructured {
		objects, err := manifests.Objects([]manifests.File{{Name: name, Data: []byte(texts[name])}})
		if err != nil {
			t.Fatal(err)
		}
		return objects
	}
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	checked, err := manifests.Check(t.Context(), []manifests.File{{Name: "rule.yaml", Data: []byte(texts["rule.yaml"])}}, nil, kinds, rules.Options{Namespace: namespace})
	if err != nil || checked.Findings.HasErrors() {
		t.Fatal(err, checked.Findings)
	}
	c := &testCase{objects: append(read("parent.yaml"), read("cluster.yaml")...)}
	for i, decoded := range checked.Decoded {
		made, err := preview.Evaluate(t.Context(), preview.Input{Program: checked.Programs[i], Parent: c.objects[0], With: c.objects[1:], Now: now, Namespace: namespace})
		if err != nil {
			t.Fatal(err)
		}
		c.rules = append(c.rules, &explain.Rule{
			Name: types.NamespacedName{Namespace: namespace, Name: decoded.Name}, ID: mark.RuleID(namespace, namespace, decoded.Name), Decoded: decoded, Program: checked.Programs[i],
			Preview: made,
		})
	}
	return c
}

// answer explains an object of the cluster, or one that a rule renders, as it would be then.
func (c *testCase) answer(t *testing.T, question string) string {
	t.Helper()
	words := strings.SplitN(question, " ", 3)
	live := c.find(t, words[0], words[1])
	var writings []explain.Writing
	for _, rule := range c.rules {
		writings = append(writings, rule.Writings(live)...)
	}
	e := explain.Explain(live, writings)
	if len(words) == 3 {
		path, wrong := syntax.ParseIgnore(words[2])
		if wrong != nil {
			t.Fatal(wrong.Message)
		}
		var ok bool
		if e, ok = e.Below(path.Steps); !ok {
			return "there is no such field\n"
		}
	}
	var out strings.Builder
	if err := (explain.ExplanationPrinter{Now: now}).Print(&out, e, len(words) == 3); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func (c *testCase) find(t *testing.T, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, object := range c.objects {
		if object.GetKind() == kind && object.GetName() == name {
			return object
		}
	}
	for _, rule := range c.rules {
		for _, node := range rule.Preview.Nodes {
			for _, object := range node.Objects {
				if object.GetKind() == kind && object.GetName() == name {
					return object.Unstructured
				}
			}
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}
