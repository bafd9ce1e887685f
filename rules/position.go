package rules

import (
	"cmp"
	"strconv"
)

// Position is a place in a source of rules. Line and Column count from 1;
// Column counts characters, not bytes. A zero Line means that only the file
// is known.
type Position struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// String gives file:line:col, without the parts that are not known.
func (p Position) String() string {
	s := p.File
	if p.Line > 0 {
		s += ":" + strconv.Itoa(p.Line)
		if p.Column > 0 {
			s += ":" + strconv.Itoa(p.Column)
		}
	}
	return s
}

// compare orders positions by file, line and column.
func (p Position) compare(o Position) int {
	return cmp.Or(
		cmp.Compare(p.File, o.File),
		cmp.Compare(p.Line, o.Line),
		cmp.Compare(p.Column, o.Column),
	)
}
