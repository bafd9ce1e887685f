// Package textdiff makes unified diffs.
//
//	text := textdiff.Unified("want", want, "got", got) // --- want, +++ got, @@ …
//	fmt.Print(textdiff.Colored(text))                   // for a terminal
package textdiff

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Unified is a unified diff with three lines of context; empty if the texts are equal.
func Unified(oldName string, old []byte, newName string, updated []byte) string {
	return udiff.Unified(oldName, newName, string(old), string(updated))
}

// Colored adds terminal colours to a unified diff: removed lines are red, added ones green.
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
