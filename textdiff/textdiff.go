// Package textdiff shows how two texts differ, as a unified diff.
//
//	text := textdiff.Unified("want", want, "got", got) // --- want, +++ got, @@ …
//	fmt.Print(textdiff.Colored(text))                   // for a terminal
package textdiff

import (
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Unified is a unified diff with three lines of context; empty if the texts are the same. Names are those of the two texts.
func Unified(oldName string, old []byte, newName string, updated []byte) string {
	text := string(diff.Diff(oldName, old, newName, updated))
	_, text, _ = strings.Cut(text, "\n") // the first line repeats the names
	return text
}

// Colored is a unified diff as a terminal shows it: removed lines are red, added ones green.
func Colored(text string) string {
	const red, green, cyan, plain = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[0m"
	colors := map[byte]string{'-': red, '+': green, '@': cyan}
	var out strings.Builder
	for line := range strings.Lines(text) {
		if color := colors[line[0]]; color != "" {
			line = color + strings.TrimSuffix(line, "\n") + plain + "\n"
		}
		out.WriteString(line)
	}
	return out.String()
}
