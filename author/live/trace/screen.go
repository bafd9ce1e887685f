package trace

import (
	"fmt"
	"io"
	"strings"
)

// The terminal sequence that moves the cursor to the top left, and clears the screen.
const clearScreen = "\x1b[H\x1b[2J"

// Screen shows trees, one after the other.
type Screen struct {
	Out    io.Writer
	Format Format
	// Style is called for each tree.
	Style func() Style
	// Height returns the current number of lines of the terminal, on which each tree takes the place of the one before. It
	// is nil if Out is not a terminal.
	Height func() int

	shown bool
}

// Show shows a tree.
func (s *Screen) Show(root *Node) error {
	var text strings.Builder
	if s.shown && s.Format == YAML {
		text.WriteString("---\n")
	} else if s.shown && s.Format != JSON && s.Height == nil {
		text.WriteString("\n")
	}
	s.shown = true
	if err := root.Write(&text, s.Format, s.Style()); err != nil {
		return err
	}
	whole := text.String()
	if s.Height != nil && s.Format != JSON && s.Format != YAML {
		whole = clearScreen + cut(whole, s.Height()-1)
	}
	_, err := io.WriteString(s.Out, whole)
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
