package manifests

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// UnifiedDiff is a unified diff with three lines of context; empty if the texts are equal.
func UnifiedDiff(oldName string, old []byte, newName string, updated []byte) string {
	return udiff.Unified(oldName, newName, string(old), string(updated))
}

// ColoredDiff adds terminal colours to a unified diff: removed lines are red, added ones green.
func ColoredDiff(text string) string {
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
