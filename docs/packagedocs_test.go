package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each file that a doc.go names exists beside it, and a doc.go with a list of files (lines that begin with the name of
// one) names all files of its package, except tests and itself.
func TestPackageDocsNameTheirFiles(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("(?:^|[\\s(`])([a-z0-9_]+\\.go)\\b")
	listed := regexp.MustCompile(`(?m)^//(?:\t|\s*- )[a-z0-9_]+\.go\b`)
	lists := 0
	for folder := range packageFolders(t) {
		text, err := os.ReadFile(filepath.Join("..", folder, "doc.go"))
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{"doc.go": true}
		for _, match := range named.FindAllStringSubmatch(string(text), -1) {
			names[match[1]] = true
			if _, err := os.Stat(filepath.Join("..", folder, match[1])); err != nil {
				t.Errorf("%s/doc.go names %s, which does not exist", folder, match[1])
			}
		}
		if !listed.Match(text) {
			continue
		}
		lists++
		files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if name := path.Base(filepath.ToSlash(file)); !names[name] && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s/doc.go lists files, and %s is missing", folder, name)
			}
		}
	}
	if lists < 5 {
		t.Errorf("found %d doc.go files with a list", lists)
	}
}
