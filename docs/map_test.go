package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// packageFolders are the folders of the repository that have Go files, of all its modules.
func packageFolders(t *testing.T) map[string]bool {
	t.Helper()
	folders := make(map[string]bool)
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (name == "bin" || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case !entry.IsDir() && path.Ext(name) == ".go":
			folders[path.Dir(name)] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

// theMap is that section of ARCHITECTURE.md.
func theMap(t *testing.T) string {
	t.Helper()
	_, section, _ := strings.Cut(read(t, "../ARCHITECTURE.md"), "\n## The map\n")
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// mapped are the folders that the rows of the map name: `a/b`, `/c` beside it for a/c, and `a/b/...` for all below a/b.
func mapped(t *testing.T) (folders map[string]bool, below []string) {
	t.Helper()
	folders = make(map[string]bool)
	for line := range strings.Lines(theMap(t)) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		last := ""
		for _, match := range regexp.MustCompile("`(/?[a-z0-9/]+?)(/\\.\\.\\.)?`").FindAllStringSubmatch(line, -1) {
			name := match[1]
			if strings.HasPrefix(name, "/") {
				name = path.Dir(last) + name
			}
			last = name
			if match[2] != "" {
				below = append(below, name)
				continue
			}
			folders[name] = true
		}
	}
	return folders, below
}

// Each folder with Go files has a place in the map of ARCHITECTURE.md: who finds a package there learns what it is for.
func TestMapHasAllPackages(t *testing.T) {
	t.Parallel()
	packages := packageFolders(t)
	folders, below := mapped(t)
	for name := range packages {
		covered := folders[name]
		for _, parent := range below {
			covered = covered || strings.HasPrefix(name, parent+"/")
		}
		if !covered {
			t.Errorf("the map of ARCHITECTURE.md has no row for %s, and none for all below a folder that has it", name)
		}
	}
	for _, parent := range below {
		if info, err := os.Stat(filepath.Join("..", parent)); err != nil || !info.IsDir() {
			t.Errorf("the map names %s/..., which is no folder", parent)
		}
	}
}

// Each folder that begins a row of the map exists.
func TestMapHasNoOtherFolders(t *testing.T) {
	t.Parallel()
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9/]+?)(?:/\\.\\.\\.)?`").FindAllStringSubmatch(theMap(t), -1) {
		if info, err := os.Stat(filepath.Join("..", row[1])); err != nil || !info.IsDir() {
			t.Errorf("the map has a row for %s, which is no folder", row[1])
		}
	}
}
