package syntax

import (
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// Shown is the text of a file for people, as in a diff: without what rules write into Secrets, and what Secrets beside them have. Each
// character is in its place.
func Shown(data []byte) []byte {
	d := &decoder{src: yamltree.New("", data), mixed: true}
	d.decode()
	d.hideInAll()
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

// hideInAll hides the values of Secrets in all documents, whatever they are. Of one that is no YAML it goes by the lines.
func (d *decoder) hideInAll() {
	for _, doc := range d.src.Documents() {
		nodes, finding := d.src.Parse(doc)
		if finding != nil {
			for i := range d.src.LinesOf(doc) {
				d.src.HideUnread(diagnostic.Position{Line: d.src.Start(doc).Line + i, Column: 1}, secretParts)
			}
		}
		for _, n := range nodes {
			if root := d.src.Build(n, &d.findings); root != nil {
				d.hideSecrets(root)
			}
		}
	}
}
