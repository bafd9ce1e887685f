package docs

import (
	_ "embed"
	"strings"
)

//go:embed reference/functions.md
var ownFunctions string

//go:embed reference/cel.md
var celFunctions string

// Function is the reference of a function or macro, in Markdown: its section, or its rows in the tables. name is the
// name after the dot, such as join, or the whole name, such as math.abs. It returns false for an unknown name.
func Function(name string) (string, bool) {
	if text := functionSection(name); text != "" {
		return rooted("reference/functions.md", text), true
	}
	var out strings.Builder
	for line := range strings.Lines(ownFunctions + celFunctions) {
		if row, ok := functionRow(line); ok && isCallOf(row[0], name) {
			out.WriteString("`" + row[0] + "`: " + row[1] + "\n\n```cel\n" + row[2] + "\n// = " + row[3] + "\n```\n\n")
		}
	}
	return strings.TrimSuffix(out.String(), "\n"), out.Len() > 0
}

// functionSection is the section of one of Kanon's own functions, with its heading; empty if there is none.
func functionSection(name string) string {
	rest := ownFunctions
	for {
		_, section, found := strings.Cut(rest, "\n###")
		if !found {
			return ""
		}
		rest = section
		level := "###" + strings.Repeat("#", len(section)-len(strings.TrimLeft(section, "#")))
		heading, body, _ := strings.Cut(strings.TrimLeft(section, "# "), "\n")
		if !isCallOf(heading, name) || strings.ToLower(heading[:1]) != heading[:1] {
			continue // headings of tables start with a capital
		}
		for n := 2; n <= len(level); n++ {
			body, _, _ = strings.Cut(body, "\n"+strings.Repeat("#", n)+" ")
		}
		return "`" + heading + "`\n\n" + strings.TrimSpace(body) + "\n"
	}
}

// isCallOf reports whether a signature such as list.join(sep) → string belongs to a function.
func isCallOf(signature, name string) bool {
	called, _, _ := strings.Cut(signature, "(")
	_, after, isMember := strings.Cut(called, ".")
	return name != "" && (called == name || isMember && after == name)
}

// functionRow parses a row of a table: the call, its result type, an example and the result.
func functionRow(line string) (row [4]string, ok bool) {
	cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00"), " | ")
	if len(cells) != len(row) || !strings.HasPrefix(cells[0], "| `") {
		return row, false
	}
	for i, cell := range cells {
		cell = strings.ReplaceAll(strings.Trim(cell, " |"), "\x00", "|")
		if i != 1 {
			cell = strings.Trim(cell, "`")
		}
		row[i] = cell
	}
	return row, true
}
