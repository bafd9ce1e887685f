package docs

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page on labels and annotations has each one that the program knows, and each field manager.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	page := read(t, "reference/annotations.md")
	named := regexp.MustCompile(`"(kanon\.dev/[a-z-]+)"|\b(?i:\w*manager|prefix|statusmanagers|finalizermanagers)\s+= "(kanon(?:-[a-z]+)*-?)"`)
	found := map[string]bool{}
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == "cmd/kanonbench" || path == "internal" || strings.HasPrefix(path, ".") && path != "."):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, path)
		for _, match := range named.FindAllStringSubmatch(string(text), -1) {
			found[match[1]+match[2]] = true
		}
		return err //nolint:wrapcheck // with the path
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 30 {
		t.Errorf("%d names were found; the code has changed its form", len(found))
	}
	for name := range found {
		switch name {
		case "kanon.dev/kanon": // the module
		case "kanon.dev/group", "kanon.dev/host": // within the program
		default:
			if !strings.Contains(page, "`"+name) {
				t.Errorf("reference/annotations.md does not have %s", name)
			}
		}
	}
}
