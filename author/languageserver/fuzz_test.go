package languageserver

import (
	"strings"
	"testing"
	"time"
)

// typed are pieces that people type.
var typed = []string{
	"", "\n", "  ", "- ", "${", "}", "parent.", ": ", "{", "[", "]", "'", "\"", "#", "ä😀", "children.", "---\n", "\t", "spec:\n", "\r\n", "\x00",
	"template:\n", "kind: Deployment\n", "has(", ")", "|-\n", "*a", "&a ", "&&",
}

// FuzzEdits edits a rule as nobody would, and asks everything at each edit: the server answers, and what it answers lies in the text.
func FuzzEdits(f *testing.F) {
	const rule = "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: r}\nspec:\n  parent: {apiVersion: apps/v1, kind: Deployment}\n" +
		"  children:\n  - id: a\n    forEach: [{name: n, in: \"${range(3)}\"}]\n    when: ${has(parent.metadata.labels)}\n" +
		"    template:\n      apiVersion: v1\n      kind: ConfigMap\n      metadata: {name: \"${parent.metadata.name}\"}\n      data: {\"ä😀\": \"${n}\"}\n" +
		"  status:\n    replicas: ${size(children.a)}\n"
	for i := range typed[:6] {
		f.Add(rule, []byte{byte(i * 40), 0, byte(4 * i), byte(255 - i*40), byte(i), byte(4*i + 1)})
	}
	f.Fuzz(func(t *testing.T, text string, edits []byte) {
		if len(text) > 1<<12 || len(edits) > 15 {
			t.Skip("larger texts are no other")
		}
		c := newClient(t, Options{Pause: time.Hour})
		c.initialize()
		uri := c.uri("rule.yaml")
		doc := map[string]any{"uri": uri, "version": 1, "text": strings.ToValidUTF8(text, "")}
		c.notify("textDocument/didOpen", map[string]any{"textDocument": doc})
		text = strings.ToValidUTF8(text, "")
		for version := 2; len(edits) >= 3; version++ {
			at := len(text) * int(edits[0]) / 256
			end := min(len(text), at+int(edits[1]))
			text = strings.ToValidUTF8(text[:at]+typed[int(edits[2])%len(typed)]+text[end:], "")
			edits = edits[3:]
			doc["version"] = version
			c.notify("textDocument/didChange", map[string]any{"textDocument": doc, "contentChanges": []any{map[string]any{"text": text}}})
			c.askAll(doc, newText(uri, version, text), at)
		}
		if err := c.quit(); err != nil {
			t.Error(err)
		}
	})
}

// askAll asks everything at a byte of a text.
func (c *client) askAll(doc map[string]any, text *text, offset int) {
	c.Helper()
	offset = min(offset, len(text.content()))
	before := text.content()[:offset]
	line := strings.Count(before, "\n")
	params := map[string]any{
		"textDocument": doc, "position": text.at(line, offset-strings.LastIndex(before, "\n")-1),
		"range": text.whole(), "context": map[string]any{"diagnostics": []any{}}, "options": map[string]any{"tabSize": 2},
	}
	var ranges []textRange
	var completed []completionItem
	c.call("textDocument/completion", params, &completed)
	for _, item := range completed {
		ranges = append(ranges, item.TextEdit.Range)
	}
	var hovered *hover
	if c.call("textDocument/hover", params, &hovered); hovered != nil {
		ranges = append(ranges, hovered.Range)
	}
	var defined *location
	if c.call("textDocument/definition", params, &defined); defined != nil {
		ranges = append(ranges, defined.Range)
	}
	var symbols []documentSymbol
	c.call("textDocument/documentSymbol", params, &symbols)
	for _, s := range symbols {
		ranges = append(ranges, s.Range, s.SelectionRange)
	}
	var edits []textEdit
	c.call("textDocument/formatting", params, &edits)
	for _, e := range edits {
		ranges = append(ranges, e.Range)
	}
	var actions []codeAction
	c.call("textDocument/codeAction", params, &actions)
	for _, a := range actions {
		for _, e := range a.Edit.Changes[text.uri] {
			ranges = append(ranges, e.Range)
		}
	}
	for _, r := range ranges {
		if !lies(r.Start, text) || !lies(r.End, text) || r.End.Line < r.Start.Line || r.End.Line == r.Start.Line && r.End.Character < r.Start.Character {
			c.Errorf("%s is not in the text %q", show(r), text.content())
		}
	}
}

// lies reports whether a position is in a text.
func lies(p position, text *text) bool {
	return p.Line >= 0 && p.Line < len(text.lines) && p.Character >= 0 && p.Character <= text.at(p.Line, len(text.lines[p.Line])).Character
}
