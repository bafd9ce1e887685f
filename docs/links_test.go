package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the pages link to exists: files, and headings in them.
func TestLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	found := 0
	for _, pattern := range []string{"*.md", "*/*.md", "*/*/*.md", "../*.md", "../examples/*.md", "../examples/*/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(pages), err)
		}
		for _, page := range pages {
			for _, match := range link.FindAllStringSubmatch(prose(read(t, page)), -1) {
				if strings.Contains(match[1], "://") {
					continue
				}
				found++
				path, anchor, _ := strings.Cut(match[1], "#")
				target := filepath.Join(filepath.Dir(page), path)
				if path == "" {
					target = page
				}
				if _, err := os.Stat(target); err != nil {
					t.Errorf("%s: %s does not exist", page, match[1])
				} else if anchor != "" && !anchors(read(t, target))[anchor] {
					t.Errorf("%s: %s has no heading %s", page, target, anchor)
				}
			}
		}
	}
	if found < 300 {
		t.Errorf("only %d links were found", found)
	}
}

// prose is a page without its blocks of code.
func prose(page string) string {
	return regexp.MustCompile("(?ms)^ *```.*?^ *```$|`[^`\n]*`").ReplaceAllString(page, "")
}

// anchors are the headings of a page, as GitHub makes anchors of them.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	page = regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(page, "")
	for line := range strings.Lines(page) {
		hashes, text, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || strings.Trim(hashes, "#") != "" {
			continue
		}
		text = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(text, "$1")
		found[anchor(text)] = true
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// No page takes more than fifteen minutes, at 200 words a minute. Examples and their results are not counted.
func TestLengthOfPages(t *testing.T) {
	t.Parallel()
	examples := regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	for _, pattern := range []string{"*.md", "reference/*.md", "reference/*/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil || len(pages) < 10 {
			t.Fatalf("%s: %d pages, %v", pattern, len(pages), err)
		}
		for _, page := range pages {
			if page == "performance-results.md" { // tables of measurements, which nobody reads from start to end
				continue
			}
			if words := len(strings.Fields(examples.ReplaceAllString(read(t, page), ""))); words > 3000 {
				t.Errorf("%s has %d words; split it", page, words)
			}
		}
	}
}
