package ruletest

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/yamltree"
)

// rewrite is the new text of an output in the file.
type rewrite struct {
	key  *yamltree.Node
	text string
}

// rewrite replaces outputs in the file by block scalars. All other lines stay.
func (f *File) rewrite(outputs []rewrite) error {
	lines := bytes.SplitAfter(f.data, []byte("\n"))
	// From the bottom up, so that positions stay valid.
	slices.SortFunc(outputs, func(a, b rewrite) int { return f.source.At(b.key).Line - f.source.At(a.key).Line })
	for _, out := range outputs {
		at := f.source.At(out.key)
		line := string(lines[at.Line-1])
		if !strings.HasPrefix(line[at.Column-1:], "output:") || strings.TrimLeft(line[:at.Column-1], " -") != "" {
			return fmt.Errorf("%s: write output on a line of its own, so that it can be rewritten", at)
		}
		indent := strings.Repeat(" ", at.Column-1)
		end := at.Line
		for end < len(lines) && (len(bytes.TrimSpace(lines[end])) == 0 || bytes.HasPrefix(lines[end], []byte(indent+" "))) {
			end++
		}
		for end > at.Line && len(bytes.TrimSpace(lines[end-1])) == 0 {
			end-- // blank lines below the text belong to what follows
		}
		newline := "\n"
		if strings.HasSuffix(line, "\r\n") {
			newline = "\r\n"
		}
		var text strings.Builder
		text.WriteString(line[:at.Column-1] + strings.TrimRight("output: | "+commentOf(line[at.Column-1:]), " ") + newline)
		for l := range strings.Lines(out.text) {
			text.WriteString(indent + "  " + strings.TrimSuffix(l, "\n") + newline)
		}
		lines = slices.Concat(lines[:at.Line-1], [][]byte{[]byte(text.String())}, lines[end:])
	}
	info, err := os.Stat(f.Path)
	if err != nil {
		return err
	}
	return os.WriteFile(f.Path, bytes.Join(lines, nil), info.Mode().Perm())
}

// commentOf is the comment on a line with a key and the beginning of its value; empty if there is none.
func commentOf(line string) string {
	var document yaml.Node
	if yaml.Unmarshal([]byte(line), &document) != nil || len(document.Content) == 0 || len(document.Content[0].Content) < 2 {
		return ""
	}
	key, val := document.Content[0].Content[0], document.Content[0].Content[1]
	return cmp.Or(val.LineComment, key.LineComment, val.HeadComment)
}
