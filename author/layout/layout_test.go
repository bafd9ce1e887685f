package layout

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

var update = flag.Bool("update", false, "rewrite the wanted texts in testdata")

// TestText lays the files before.yaml of testdata out. They become after.yaml, and findings where there are some.
func TestText(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			before := archive.Files[0].Data
			laid, findings := Text("before.yaml", before)
			var told strings.Builder
			for _, f := range findings {
				told.WriteString(f.String() + "\n")
			}
			after := txtar.File{Name: "after.yaml", Data: laid}
			if len(findings) > 0 {
				if string(laid) != string(before) {
					t.Errorf("a text with findings becomes\n%s", laid)
				}
				after = txtar.File{Name: "findings", Data: []byte(told.String())}
			}
			got := txtar.Format(&txtar.Archive{Comment: archive.Comment, Files: []txtar.File{archive.Files[0], after}})
			if *update {
				if err := os.WriteFile(path, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(txtar.Format(archive)), string(got)); diff != "" && !*update {
				t.Errorf("(-want +got):\n%s", diff)
			}
			checkLaidOut(t, before)
		})
	}
}

// texts are all files with rules that there are.
func texts(tb testing.TB) map[string][]byte {
	tb.Helper()
	found := map[string][]byte{}
	for _, dir := range []string{"../../rules/testdata", "../../examples", "../../cmd/kanon/testdata", "../ruletest", "../../docs"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			data, readErr := os.ReadFile(path)
			switch filepath.Ext(path) {
			case ".txtar":
				for _, file := range txtar.Parse(data).Files {
					found[path+":"+file.Name] = file.Data
				}
			case ".yaml":
				found[path] = data
			case ".md":
				for _, block := range strings.Split(string(data), "```yaml")[1:] {
					block, _, _ = strings.Cut(block[strings.IndexByte(block, '\n')+1:], "```")
					found[path+": "+block] = []byte("apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: x}\nspec:\n  " + strings.ReplaceAll(block, "\n", "\n  "))
				}
			default:
				return nil
			}
			return readErr
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return found
}

func TestEveryRule(t *testing.T) {
	t.Parallel()
	rules, left := 0, 0
	for name, text := range texts(t) {
		checkLaidOut(t, text)
		src := yamltree.New(name, text)
		for _, doc := range src.Documents() {
			nodes, finding := src.Parse(doc)
			var findings diagnostic.List
			if finding != nil || len(nodes) != 1 || !isRule(nodes[0]) || src.Build(nodes[0], &findings) == nil || len(findings) > 0 {
				continue
			}
			rules++
			before := src.TextOf(doc)
			if laid, ok := layOut(before, true); !ok || !isSame(before, laid) {
				left++
				t.Logf("%s is not laid out (%t, same: %t):\n%s", name, ok, isSame(before, laid), before)
				if ok {
					t.Logf("it would be\n%s", laid)
				}
			}
		}
	}
	if rules < 300 || left > 5 {
		t.Errorf("%d of %d rules are not laid out", left, rules)
	}
}

// checkLaidOut holds what is true of every text: it is decoded to the same rules, has the same comments, and is laid out the same
// if that is done again.
func checkLaidOut(tb testing.TB, text []byte) {
	tb.Helper()
	laid, findings := Text("rule.yaml", text)
	if len(findings) > 0 {
		if string(laid) != string(text) {
			tb.Errorf("a text with findings changes:\n%s", text)
		}
		return
	}
	again, findings := Text("rule.yaml", laid)
	if len(findings) > 0 {
		tb.Errorf("%v in\n%s\nwhich was\n%s", findings, laid, text)
	}
	if diff := cmp.Diff(string(laid), string(again)); diff != "" {
		tb.Errorf("laid out again it differs (-once +twice):\n%s\nof\n%s", diff, text)
	}
	if diff := cmp.Diff(decoded(text), decoded(laid)); diff != "" {
		tb.Errorf("it is another rule (-before +after):\n%s\nof\n%s", diff, text)
	}
}

// decoded are the hashes of the rules in a text, and how often there is each finding.
func decoded(text []byte) (all []string) {
	docs, findings := syntax.DecodeManifest("rule.yaml", text)
	for _, rule := range slices.Concat(docs.Rules, docs.Partial) {
		all = append(all, rule.Name+" "+rule.Hash())
	}
	for _, f := range findings {
		all = append(all, string(f.Code))
	}
	slices.Sort(all)
	return all
}

func FuzzText(f *testing.F) {
	for _, text := range texts(f) {
		if len(text) < 2000 {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		checkLaidOut(t, text)
	})
}

// TestExamples holds that what users see first is laid out.
func TestExamples(t *testing.T) {
	t.Parallel()
	found := 0
	for _, pattern := range []string{"../../examples/*/*.yaml", "../manifests/template/*/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			found++
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			laid, findings := Text(path, text)
			if diff := cmp.Diff(string(laid), string(text)); diff != "" || len(findings) > 0 {
				t.Errorf("%s is not laid out; run kanon fmt -w (-want +got): %v\n%s", path, findings, diff)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d files were found", found)
	}
}

// A rule that is not YAML is one however its kind is written.
func TestBrokenRules(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"kind: Rule # k\nspec: [\n":       true,
		"kind: \"Rule\"\nspec: [\n":       true,
		"kind: Rule\r\nspec: [\r\n":       true,
		"{kind: Rule, spec: [\n":          true,
		"{spec: {}, 'kind': 'Rule', [\n":  true,
		"kind: RuleTest\nspec: [\n":       false,
		"kind: Pod # kind: Rule\nspec: [": false,
	} {
		if _, findings := Text("rule.yaml", []byte(text)); len(findings) > 0 != want {
			t.Errorf("%q: %v", text, findings)
		}
	}
}
