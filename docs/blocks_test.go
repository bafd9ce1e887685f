package docs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Each block of code ends, has a language, which the site colours, and YAML can be read. Where a block is only a part of a text, it has
// dots for the rest.
func TestBlocks(t *testing.T) {
	t.Parallel()
	languages := regexp.MustCompile(`^(yaml( (parent|rule|with|result|test))?|json|console|sh|text|cel|go|diff|mermaid|js|toml|lua)$`)
	found := 0
	for _, pattern := range []string{"*.md", "*/*.md", "*/*/*.md", "../*.md", "../examples/*.md", "../examples/*/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			language, block, before, inside := "", "", "", false
			for line := range strings.Lines(read(t, page)) {
				fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
				switch {
				case !isFence:
					block += line
				case !inside:
					language, before, block, inside = fence, strings.TrimSpace(block)+"\n", "", true
					found++
					if !languages.MatchString(language) {
						t.Errorf("%s: a block of %q", page, language)
					}
				default:
					wrong := strings.HasSuffix(before, "Wrong:\n") // of a finding, and perhaps no YAML
					if strings.HasPrefix(language, "yaml") && !wrong && !strings.Contains(block, "…") && !strings.Contains(block, "...") {
						checkYAML(t, page, block)
					}
					block, inside = "", false
				}
			}
			if inside {
				t.Errorf("%s: a block does not end: %s", page, block)
			}
		}
	}
	if found < 500 {
		t.Errorf("only %d blocks were found", found)
	}
}

func checkYAML(t *testing.T, page, block string) {
	t.Helper()
	for document := range strings.SplitSeq(block, "\n---\n") {
		var value yaml.Node
		if err := yaml.Unmarshal([]byte(document), &value); err != nil {
			t.Errorf("%s: %v in\n%s", page, err, block)
		}
	}
}
