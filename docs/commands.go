package docs

import (
	"embed"
	"regexp"
	"strings"
)

//go:embed reference/commands/*.md
var commands embed.FS

// Command is the help of a command, which its page in the reference begins with: what it does, and examples. Both are
// empty for a command without a page.
func Command(name string) (long, examples string) {
	page, err := commands.ReadFile("reference/commands/" + name + ".md")
	if err != nil {
		return "", ""
	}
	_, text, _ := strings.Cut(string(page), "<!-- what it does -->\n")
	text, _, _ = strings.Cut(text, "<!-- end -->")
	escaped := regexp.MustCompile("\\\\([<*_\\[`])")
	var paragraphs []string
	for i, block := range strings.Split(text, "```") {
		language, code, _ := strings.Cut(strings.TrimRight(block, "\n"), "\n")
		prose := escaped.ReplaceAllString(strings.TrimSpace(block), "$1")
		switch {
		case i%2 == 0 && prose != "":
			paragraphs = append(paragraphs, prose)
		case language == "sh":
			examples = regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(code, "  $1")
		case language == "text" && !strings.HasPrefix(code+" ", "kanon "+name+" "): // otherwise the usage, which the command knows
			paragraphs = append(paragraphs, code)
		}
	}
	return strings.Join(paragraphs, "\n\n"), examples
}
