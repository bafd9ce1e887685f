package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Each file that a doc.go names exists beside it.
func TestPackageDocsNameTheirFiles(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("(?:^|[\\s(`])([a-z0-9_]+\\.go)\\b")
	for folder := range packageFolders(t) {
		text, err := os.ReadFile(filepath.Join("..", folder, "doc.go"))
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		for _, match := range named.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join("..", folder, match[1])); err != nil {
				t.Errorf("%s/doc.go names %s, which does not exist", folder, match[1])
			}
		}
	}
}
