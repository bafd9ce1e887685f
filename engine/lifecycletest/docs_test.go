package lifecycletest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLifecycleNamesTests holds that the tests which docs/lifecycle.md names are
// there.
func TestLifecycleNamesTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/lifecycle.md")
	if err != nil {
		t.Fatal(err)
	}
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
	named := regexp.MustCompile("`(Test[A-Za-z]+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) == 0 {
		t.Error("no test is named")
	}
	for _, name := range named {
		if !strings.Contains(code.String(), "func "+name[1]+"(t ") {
			t.Errorf("docs/lifecycle.md names %s, which is not there", name[1])
		}
	}
}
