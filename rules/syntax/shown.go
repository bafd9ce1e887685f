package syntax

import (
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/secrets"
	"kanon.dev/kanon/rules/yamltree"
)

// Shown is the text of a file for people, as in a diff. It hides what rules write into Secrets, and the values of Secrets beside the
// rules. All other characters stay at their line and column.
func Shown(data []byte) []byte {
	d := &decoder{src: yamltree.New("", data), mixed: true}
	d.decode()
	secrets.HideAll(d.src)
	var out strings.Builder
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		at := diagnostic.Position{Line: number, Column: 1}
		if shown := d.src.ShownAt(at); shown != d.src.LineAt(at) {
			line = strings.TrimRight(shown, "\r\n") + line[len(strings.TrimRight(line, "\r\n")):]
		}
		out.WriteString(line)
	}
	return []byte(out.String())
}
