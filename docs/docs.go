// Package docs embeds the pages that the program shows: the reference of commands, functions and findings.
//
//	page, ok := docs.Finding("KN0204")
package docs

import (
	"embed"
	"path"
	"regexp"
	"strings"
	"unicode"
)

//go:embed reference/findings/*.md
var findings embed.FS

// Finding is the section of a code in the reference, in Markdown, without its heading. Links to other pages are
// relative to the root of the repository, as in docs/reference/rule.md. It returns false for an unknown code.
func Finding(code string) (string, bool) {
	name, _, section, ok := findingOf(code)
	if !ok {
		return "", false
	}
	return rooted(name, strings.TrimSpace(section)) + "\n", true
}

// FindingPlace is the place of a code in the reference: the path of the page in the repository and the anchor of the
// heading, as in docs/reference/findings/names.md#kn0204-an-unknown-name. It is empty for an unknown code.
func FindingPlace(code string) string {
	name, heading, _, ok := findingOf(code)
	if !ok {
		return ""
	}
	return path.Join("docs", name) + "#" + anchor(heading)
}

// findingOf finds the page with a section on a code, the heading of the section, and its text.
func findingOf(code string) (name, heading, section string, ok bool) {
	pages, err := findings.ReadDir("reference/findings")
	if err != nil || code == "" {
		return "", "", "", false
	}
	for _, page := range pages {
		name := path.Join("reference/findings", page.Name())
		text, err := findings.ReadFile(name)
		if err != nil {
			continue
		}
		_, section, found := strings.Cut(string(text), "\n### "+code+": ")
		if !found {
			continue
		}
		title, section, _ := strings.Cut(section, "\n")
		for _, next := range []string{"\n### ", "\n## "} {
			section, _, _ = strings.Cut(section, next)
		}
		return name, code + ": " + title, section, true
	}
	return "", "", "", false
}

// anchor is the anchor that GitHub and the site give a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, heading)
}

// link matches a Markdown link.
var link = regexp.MustCompile(`\[([^\[\]]*)\]\(([^()\s]*)\)`)

// rooted makes the links of a page relative to the root of the repository, except in examples.
func rooted(page, markdown string) string {
	return outsideExamples(markdown, func(line string) string {
		return link.ReplaceAllStringFunc(line, func(found string) string {
			parts := link.FindStringSubmatch(found)
			if strings.Contains(parts[2], "://") {
				return found
			}
			file, place, hasPlace := strings.Cut(parts[2], "#")
			target := path.Join("docs", page)
			if file != "" {
				target = path.Join("docs", path.Dir(page), file)
			}
			if hasPlace {
				target += "#" + place
			}
			return "[" + parts[1] + "](" + target + ")"
		})
	})
}

// outsideExamples changes the lines outside of code blocks.
func outsideExamples(markdown string, change func(line string) string) string {
	var out strings.Builder
	inExample := false
	for line := range strings.Lines(markdown) {
		isFence := strings.HasPrefix(line, "```")
		if isFence {
			inExample = !inExample
		}
		if !isFence && !inExample {
			line = change(line)
		}
		out.WriteString(line)
	}
	return out.String()
}

// Plain formats Markdown for a terminal: examples are indented, and a link is its text followed by its target.
func Plain(markdown string) string {
	var out strings.Builder
	indent := ""
	for line := range strings.Lines(markdown) {
		switch {
		case strings.HasPrefix(line, "```"):
			if indent == "" {
				indent = "    "
			} else {
				indent = ""
			}
		case indent != "" && line != "\n":
			out.WriteString(indent + line)
		case indent != "":
			out.WriteString(line)
		default:
			out.WriteString(link.ReplaceAllString(line, "$1 ($2)"))
		}
	}
	return out.String()
}
