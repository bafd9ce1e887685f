package docs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/rules/diagnostic"
)

func TestFinding(t *testing.T) {
	t.Parallel()
	for _, info := range diagnostic.Codes() {
		page, ok := Finding(string(info.Code))
		if !ok || !strings.HasPrefix(page, "Messages:\n") {
			t.Errorf("%s: %t, %.40q", info.Code, ok, page)
		}
		if strings.Contains(page, "\n#") {
			t.Errorf("%s goes on into the next section", info.Code)
		}
		plain := Plain(page)
		if strings.Contains(plain, "```") || strings.Contains(plain, ".md)") && strings.Contains(plain, "](") {
			t.Errorf("%s is still Markdown:\n%s", info.Code, plain)
		}
	}
	for _, code := range []string{"", "KN", "KN9999", "kn0204"} {
		if page, ok := Finding(code); ok {
			t.Errorf("%q gives %.40q", code, page)
		}
	}
}

// A link in an explanation leads there from the root of the repository, from whatever page it is.
func TestRooted(t *testing.T) {
	t.Parallel()
	const markdown = "Read [that](../rule.md#a), [this](#b), and [CEL](https://cel.dev).\n\n```yaml\na: [b](c)\n```\n"
	const want = "Read [that](docs/reference/rule.md#a), [this](docs/reference/findings/names.md#b), and [CEL](https://cel.dev).\n\n```yaml\na: [b](c)\n```\n"
	if diff := cmp.Diff(want, rooted("reference/findings/names.md", markdown)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The place of a finding is a heading of a page.
func TestFindingPlace(t *testing.T) {
	t.Parallel()
	for _, info := range diagnostic.Codes() {
		page, place, _ := strings.Cut(FindingPlace(string(info.Code)), "#")
		if page == "" || !anchors(read(t, strings.TrimPrefix(page, "docs/")))[place] {
			t.Errorf("%s: %q has no heading %q", info.Code, page, place)
		}
	}
	if place := FindingPlace("KN9999"); place != "" {
		t.Errorf("KN9999 is explained in %s", place)
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	const markdown = "Read [that](docs/reference/rule.md#a) and [this](docs/reference/rule.md#b), not spec.children[1].\n\n```yaml\na: [b](c)\n\nd: e\n```\n\nEnd.\n"
	const want = "Read that (docs/reference/rule.md#a) and this (docs/reference/rule.md#b), not spec.children[1].\n\n    a: [b](c)\n\n    d: e\n\nEnd.\n"
	if diff := cmp.Diff(want, Plain(markdown)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
