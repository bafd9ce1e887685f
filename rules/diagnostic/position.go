package diagnostic

import (
	"cmp"
	"strconv"
)

// Position is a place in a source. Line and Column count from 1; Column counts characters, not bytes. A zero Line means
// that only the file is known, or that the source is an object, which has no lines.
type Position struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Path is the path in an object: spec.children[1].template.kind. For text of several lines, the line follows. It is
	// empty in a file.
	Path string `json:"path,omitempty"`
}

// String returns file:line:col, or the object and the path. It omits unknown parts.
func (p Position) String() string {
	s := p.File
	if p.Path != "" {
		s += ": " + p.Path
	}
	if p.Line > 0 {
		s += ":" + strconv.Itoa(p.Line)
		if p.Column > 0 {
			s += ":" + strconv.Itoa(p.Column)
		}
	}
	return s
}

// ByteOf returns the byte of a line, or of another text, that follows so many characters; its length if it has fewer.
func ByteOf(line string, characters int) int {
	for i := range line {
		if characters <= 0 {
			return i
		}
		characters--
	}
	return len(line)
}

// compare orders positions by file, line and column.
func (p Position) compare(o Position) int {
	return cmp.Or(
		cmp.Compare(p.File, o.File),
		cmp.Compare(p.Line, o.Line),
		cmp.Compare(p.Column, o.Column),
		cmp.Compare(p.Path, o.Path),
	)
}
