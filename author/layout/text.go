package layout

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/yamltree"
)

// Text formats the rules in a text. Other documents stay as they are, byte for byte. If something that looks like a
// rule does not parse, or has a field twice, the whole text stays as it is, and the findings say why. Other errors in a
// rule do not matter.
func Text(name string, data []byte) ([]byte, diagnostic.Findings) {
	src := yamltree.New(name, data)
	var findings diagnostic.List
	var out strings.Builder
	if strings.HasPrefix(string(data), diagnostic.ByteOrderMark) {
		out.WriteString(diagnostic.ByteOrderMark)
	}
	for _, doc := range src.Documents() {
		text := src.TextOf(doc)
		nodes, finding := src.Parse(doc)
		switch {
		case finding != nil && mentionsRule(text):
			findings = append(findings, finding)
		case finding == nil && len(nodes) == 1 && isRule(nodes[0]):
			if src.Build(nodes[0], &findings) != nil {
				text = rule(text)
			}
		}
		out.WriteString(text)
	}
	if len(findings) > 0 {
		return data, findings.Findings(src)
	}
	return []byte(out.String()), nil
}

// ruleKind matches the kind of a rule, on a line of its own or in a flow mapping.
var ruleKind = regexp.MustCompile(`(?m)(?:^|[{,])\s*["']?kind["']?\s*:\s*["']?` + language.Kind + `["']?\s*(?:#.*|[,}].*)?$`)

// mentionsRule reports whether a text that does not parse is probably a rule.
func mentionsRule(text string) bool { return ruleKind.MatchString(text) }

func isRule(root *yaml.Node) bool {
	version, kind := value(root, "apiVersion"), value(root, "kind")
	return version != nil && kind != nil && version.Value == language.APIVersion && kind.Value == language.Kind
}

// value is the value of a mapping's field, or nil.
func value(n *yaml.Node, name string) *yaml.Node {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				return n.Content[i+1]
			}
		}
	}
	return nil
}

// rule formats one rule. If the result is not the same rule with the same comments, for example because an alias would
// precede its anchor, the fields keep their order. If that fails too, the text stays as it is.
func rule(text string) string {
	for _, ordered := range []bool{true, false} {
		if laid, ok := layOut(text, ordered); ok && isSame(text, laid) {
			return laid
		}
	}
	return text
}

// layOut lays out a document. It returns false for documents in flow style, with complex keys, tabs or unusual line
// breaks, which no rule needs.
func layOut(text string, ordered bool) (string, bool) {
	end := "\n"
	if first, _, _ := strings.Cut(text, "\n"); strings.HasSuffix(first, "\r") {
		end = "\r\n"
	}
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	if strings.ContainsAny(text, "\u0085\u2028\u2029\t") || slices.ContainsFunc(lines, isMarker) {
		return "", false
	}
	root := parse(strings.Join(lines, "\n") + "\n")
	if root == nil || !isBlock(root) || root.Kind != yaml.MappingNode {
		return "", false
	}
	start := 0
	if lines[0] == "---" || strings.HasPrefix(lines[0], "---") && strings.HasPrefix(strings.TrimSpace(lines[0][3:]), "#") {
		start = 1
	} else if strings.HasPrefix(lines[0], "---") {
		return "", false
	}
	p := &page{lines: lines, ordered: ordered}
	head, body := p.document(root, start)
	if p.unusual {
		return "", false
	}
	var out []string
	if start == 1 {
		out = append(out, strings.TrimRight(lines[0], " "))
	}
	out = append(append(out, head...), body...)
	return strings.Join(out, end) + end, true
}

// isMarker reports whether a line is a directive or a document end marker.
func isMarker(line string) bool {
	return strings.HasPrefix(line, "%") || strings.HasPrefix(line, "...")
}

// parse is the root of a text with one document; nil for any other text.
func parse(text string) *yaml.Node {
	src := yamltree.New("", []byte(text))
	docs := src.Documents()
	if len(docs) != 1 {
		return nil
	}
	nodes, finding := src.Parse(docs[0])
	if finding != nil || len(nodes) != 1 {
		return nil
	}
	return nodes[0]
}

// isSame reports whether two texts are the same rule with the same comments.
func isSame(before, after string) bool {
	return hash(before) == hash(after) && hash(after) != "" && slices.Equal(comments(before), comments(after))
}

func hash(text string) string {
	root := parse(text)
	if root == nil {
		return ""
	}
	var findings diagnostic.List
	n := yamltree.New("", []byte(text)).Build(root, &findings)
	if n == nil || len(findings) > 0 {
		return ""
	}
	return n.Hash()
}

// comments are the parts of all lines from the first # on, sorted. They include all comments; any other # must be
// unchanged too.
func comments(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if i := strings.IndexByte(line, '#'); i >= 0 {
			all = append(all, strings.TrimSpace(line[i:]))
		}
	}
	slices.Sort(all)
	return all
}
