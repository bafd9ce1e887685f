package languageserver

import (
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf16"

	"kanon.dev/kanon/rules/diagnostic"
)

// text is a document as open in the editor.
type text struct {
	uri     string
	version int
	lines   []string
}

func newText(uri string, version int, content string) *text {
	content = strings.ReplaceAll(strings.TrimPrefix(content, diagnostic.ByteOrderMark), "\r\n", "\n")
	return &text{uri: uri, version: version, lines: strings.Split(content, "\n")}
}

func (t *text) content() string { return strings.Join(t.lines, "\n") }

// line is a line; empty beyond the last one.
func (t *text) line(i int) string {
	if i < 0 || i >= len(t.lines) {
		return ""
	}
	return t.lines[i]
}

// offset is the byte offset of a position in its line. Positions count UTF-16 units.
func (t *text) offset(p position) int {
	line, units := t.line(p.Line), 0
	for i, r := range line {
		if units >= p.Character {
			return i
		}
		units += utf16.RuneLen(r)
	}
	return len(line)
}

// at is the position of a byte in a line.
func (t *text) at(line, offset int) position {
	units := 0
	for _, r := range t.line(line)[:min(offset, len(t.line(line)))] {
		units += utf16.RuneLen(r)
	}
	return position{Line: line, Character: units}
}

// span is the range of a finding or a node. Their lines and columns count from 1, and columns count characters.
func (t *text) span(line, column, length int) textRange {
	from := diagnostic.ByteOf(t.line(line-1), column-1)
	to := from + diagnostic.ByteOf(t.line(line - 1)[from:], length)
	return textRange{Start: t.at(line-1, from), End: t.at(line-1, to)}
}

// whole is the range of the whole text.
func (t *text) whole() textRange {
	last := len(t.lines) - 1
	return textRange{End: t.at(last, len(t.lines[last]))}
}

// document is the YAML document that contains a line: its first line, and the line after its last.
func (t *text) document(line int) (first, last int) {
	last = len(t.lines)
	for i, l := range t.lines {
		if i > 0 && (l == "---" || strings.HasPrefix(l, "--- ")) {
			if i > line {
				return first, i
			}
			first = i
		}
	}
	return first, last
}

// pathOf is the file path of a URI, or the URI itself if it does not name a file.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return uri
	}
	path := u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' { // /C:/rules on Windows
		path = path[1:]
	}
	return filepath.FromSlash(path)
}
