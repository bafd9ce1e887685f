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

func TestPlain(t *testing.T) {
	t.Parallel()
	const markdown = "Read [that](rules.md#a) and [this](#b), not spec.children[1].\n\n```yaml\na: [b](c)\n\nd: e\n```\n\nEnd.\n"
	const want = "Read that (docs/rules.md#a) and this (docs/findings.md#b), not spec.children[1].\n\n    a: [b](c)\n\n    d: e\n\nEnd.\n"
	if diff := cmp.Diff(want, Plain(markdown)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
