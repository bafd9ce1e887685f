package lifecycletest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLifecycleNamesTests holds that the tests exist which the pages on the
// lifecycle name.
func TestLifecycleNamesTests(t *testing.T) {
	var code strings.Builder
	for _, pattern := range []string{"../*_test.go", "../*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(text)
		}
	}
	for _, path := range []string{"reference/lifecycle.md", "reference/lifecycle-rules.md", "prune-guard.md"} {
		page, err := os.ReadFile(filepath.Join("../../docs", path))
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(string(page), -1)
		if len(named) == 0 {
			t.Errorf("docs/%s names no test", path)
		}
		for _, name := range named {
			if !strings.Contains(code.String(), "func "+name[1]+"(t ") {
				t.Errorf("docs/%s names %s, which does not exist", path, name[1])
			}
		}
	}
}
