package examples_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/author/explain"
	"kanon.dev/kanon/internal/kanontest"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// Each folder has the same files, a README.md with the graph of its rule, a scenario to the end of its parent, and a line in the index.
func TestFolders(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	index := readFile(t, "README.md")
	for _, entry := range entries {
		dir := entry.Name()
		if !entry.IsDir() {
			continue
		}
		t.Run(dir, func(t *testing.T) {
			for _, name := range []string{"README.md", "parent.yaml", "rule.yaml", "rule_test.yaml", "scenario.yaml"} {
				if !exists(t, filepath.Join(dir, name)) {
					t.Errorf("there is no %s", name)
				}
			}
			if !strings.Contains(index, "]("+dir+"/") {
				t.Error("the index in examples/README.md does not name it; each folder has a line there, as [" + dir + "](" + dir + "/)")
			}
			checked := check(t, dir)
			for _, f := range checked.Findings { // also warnings: as with --strict
				t.Error(f)
			}
			checkGraph(t, dir, checked.Decoded)
			checkDeletion(t, dir, checked.Programs)
		})
	}
}

// checkGraph compares the end of an example's README.md with the graphs of its rules.
func checkGraph(t *testing.T, dir string, decoded []*syntax.Rule) {
	t.Helper()
	var want strings.Builder
	for _, rule := range decoded {
		g, err := explain.GraphOf(rule)
		if err != nil {
			t.Fatal(err)
		}
		want.WriteString("\n```mermaid\n")
		if err := explain.WriteGraphs(&want, explain.GraphMermaid, g); err != nil {
			t.Fatal(err)
		}
		want.WriteString("```\n")
	}
	const heading = "\n## Graph\n"
	path := filepath.Join(dir, "README.md")
	page, got, _ := strings.Cut(readFile(t, path), heading)
	if *update {
		if err := os.WriteFile(path, []byte(page+heading+want.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("%s does not end with%sand what kanon explain -o mermaid prints; run go test ./examples -run TestFolders -update (-want +got):\n%s",
			path, heading, diff)
	}
}

// checkDeletion holds that an example's scenario goes on to the end of a parent, which a step deletes or awaits to be gone.
func checkDeletion(t *testing.T, dir string, programs []*program.Program) {
	t.Helper()
	scenario, err := kanontest.ReadScenario(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range scenario.Steps {
		ended, err := scenario.Objects(slices.Concat(step.Delete, step.Gone), metav1.NamespaceDefault)
		if err != nil {
			t.Fatal(err)
		}
		endsParent := slices.ContainsFunc(ended, func(object *unstructured.Unstructured) bool {
			return slices.ContainsFunc(programs, func(p *program.Program) bool { return p.Parent.GVK == object.GroupVersionKind() })
		})
		if endsParent && len(step.Gone) > 0 {
			return
		}
	}
	t.Errorf("no step of %s deletes the parent and awaits under gone what goes with it", filepath.Join(dir, kanontest.ScenarioFile))
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}
