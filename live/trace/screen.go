package trace

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// The terminal sequences that move the cursor to the top left, and clear the screen.
const home, clearAll = "\x1b[H", "\x1b[2J"

// Screen shows trees, each in the place of the one before.
type Screen struct {
	Out    io.Writer
	Format Format
	// Style is called for each tree.
	Style func() Style
	// Height returns the current number of lines of the terminal. It is nil if Out is not a terminal.
	Height func() int
}

// Update shows a tree. A terminal, and formats for programs, get the whole tree; other outputs get only the changes.
// changes is nil for the first tree.
func (s *Screen) Update(root *Node, changes []Change) error {
	var text strings.Builder
	switch {
	case s.Format == YAML && changes != nil:
		text.WriteString("---\n")
	case s.Format == JSON || s.Format == YAML:
	case s.Height != nil:
		var tree strings.Builder
		if err := root.Write(&tree, s.Format, s.Style()); err != nil {
			return err
		}
		_, err := io.WriteString(s.Out, home+clearAll+cut(tree.String(), s.Height()-1))
		return err
	case changes != nil:
		now := time.Now().Format(time.TimeOnly)
		for _, change := range changes {
			fmt.Fprintf(&text, "%s %s\n", now, change)
		}
		_, err := io.WriteString(s.Out, text.String())
		return err
	}
	if err := root.Write(&text, s.Format, s.Style()); err != nil {
		return err
	}
	_, err := io.WriteString(s.Out, text.String())
	return err
}

// cut shortens a text to a number of lines.
func cut(text string, height int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if height <= 1 || len(lines) <= height {
		return text
	}
	left := len(lines) - (height - 1)
	return strings.Join(lines[:height-1], "\n") + fmt.Sprintf("\n… %d more lines, for which the terminal is too small\n", left)
}
