package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// testsByName finds the test functions of the repository, with the directories that have them.
func testsByName(t *testing.T) map[string][]string {
	t.Helper()
	tests := make(map[string][]string)
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // of the repository
		for _, match := range function.FindAllSubmatch(text, -1) {
			name, in := string(match[1]), filepath.ToSlash(filepath.Dir(path))
			tests[name] = append(tests[name], strings.TrimPrefix(in, "../"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

// Each test that a page names exists, in the package that it names: who is told that a test shows something finds it.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	tests := testsByName(t)
	pages := []string{"../SECURITY.md", "../ARCHITECTURE.md"}
	more, err := filepath.Glob("reference/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, page := range append(pages, more...) {
		for _, match := range regexp.MustCompile("`(?:([a-z/]+): )?((?:Test|Fuzz)[A-Z]\\w*|[a-z/-]+(?:_test\\.go|\\.txtar))`").FindAllStringSubmatch(read(t, page), -1) {
			named++
			in, name := match[1], match[2]
			switch dirs := tests[name]; {
			case strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/"):
				if _, err := os.Stat(filepath.Join("..", name)); err != nil {
					t.Errorf("%s names %s, which does not exist", page, name)
				}
			case strings.HasSuffix(name, ".txtar"):
				if _, err := os.Stat(filepath.Join("../cmd/kanon/testdata/script", name)); err != nil {
					t.Errorf("%s names the script %s, which does not exist", page, name)
				}
			case len(dirs) == 0:
				t.Errorf("%s names %s, which does not exist", page, name)
			case in != "" && !slices.Contains(dirs, in):
				t.Errorf("%s names %s in %s; it is in %s", page, name, in, strings.Join(dirs, ", "))
			case in == "" && len(dirs) > 1 && strings.HasSuffix(page, "SECURITY.md"):
				t.Errorf("%s names %s, which is in %s; say in which", page, name, strings.Join(dirs, ", "))
			}
		}
	}
	if named < 50 {
		t.Errorf("the pages name %d tests", named)
	}
}
