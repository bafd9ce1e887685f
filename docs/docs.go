// Package docs has the pages that the program shows: those that are beside this file.
//
//	page, ok := docs.Finding("KN0204")
package docs

import (
	_ "embed"
	"strings"
)

//go:embed findings.md
var findings string

// Finding is what findings.md says about a code, in Markdown, without its heading. It is false for a code that is not there.
func Finding(code string) (string, bool) {
	_, section, found := strings.Cut(findings, "\n### "+code+": ")
	if code == "" || !found {
		return "", false
	}
	_, section, _ = strings.Cut(section, "\n")
	for _, next := range []string{"\n### ", "\n## "} {
		section, _, _ = strings.Cut(section, next)
	}
	return strings.TrimSpace(section) + "\n", true
}

// Plain is Markdown as a terminal shows it: examples are indented, and a link to another page is the name of its file.
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
			out.WriteString(withoutLinks(line))
		}
	}
	return out.String()
}

// withoutLinks writes [text](rules.md#part) as: text (docs/rules.md#part).
func withoutLinks(line string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(line, "[")
		text, rest, closed := strings.Cut(rest, "](")
		target, rest, ended := strings.Cut(rest, ")")
		if !found || !closed || !ended {
			out.WriteString(line)
			return out.String()
		}
		if strings.HasPrefix(target, "#") {
			target = "findings.md" + target
		}
		out.WriteString(before + text + " (docs/" + target + ")")
		line = rest
	}
}
