package operations

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// errText reports that no single line of a text can be changed to set the field.
var errText = errors.New("its text cannot be changed in one place without a change elsewhere; set spec.suspend by hand")

// SetSuspend sets spec.suspend of a rule in a text. It keeps comments and layout. Resuming removes a line that only
// suspends the rule, so that the text is as before. defaultNamespace is that of rules without a namespace.
func SetSuspend(text []byte, rule types.NamespacedName, defaultNamespace string, suspend bool) ([]byte, error) {
	before := rootsOf(text)
	for i, root := range before.nodes {
		if before.nameOf(root, defaultNamespace) != rule {
			continue
		}
		changed := before.setSuspend(string(text), root, suspend)
		if changed == string(text) {
			return text, nil
		}
		if !isOnlyChange(before, rootsOf([]byte(changed)), i, suspend) {
			return nil, errText
		}
		return []byte(changed), nil
	}
	return nil, errText
}

// roots are the documents of a text.
type roots struct {
	source *yamltree.Source
	nodes  []*yamltree.Node
}

func rootsOf(text []byte) roots {
	r := roots{source: yamltree.New("", text)}
	for _, document := range r.source.Documents() {
		parsed, _ := r.source.Parse(document) // a document that is not YAML has no rule
		for _, node := range parsed {
			var findings diagnostic.List
			if root := r.source.Build(node, &findings); root != nil {
				r.nodes = append(r.nodes, root)
			}
		}
	}
	return r
}

// nameOf is the name of a rule; empty for other kinds.
func (r roots) nameOf(root *yamltree.Node, defaultNamespace string) types.NamespacedName {
	if kind, _ := root.Get("kind").Text(); root.Kind != yamltree.Mapping || kind != syntax.RuleKind {
		return types.NamespacedName{}
	}
	name, _ := root.Get("metadata").Get("name").Text()
	namespace, ok := root.Get("metadata").Get("namespace").Text()
	if !ok {
		namespace = defaultNamespace
	}
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// setSuspend returns the text with spec.suspend set in one of its documents.
func (r roots) setSuspend(text string, root *yamltree.Node, suspend bool) string {
	specKey, spec := root.Step("spec")
	if spec == nil || spec.Kind != yamltree.Mapping || len(spec.Fields) == 0 {
		return text
	}
	key, value := spec.Step("suspend")
	switch is, _ := valueOf(value).(bool); {
	case is == suspend:
		return text
	case suspend && value == nil:
		return r.insert(text, r.source.At(specKey), spec.Fields[0].Key)
	case suspend:
		return splice(text, r.source.At(value), value.Raw(), "true")
	default:
		return r.remove(text, key, value)
	}
}

func valueOf(n *yamltree.Node) any {
	if n == nil {
		return nil
	}
	return n.Value
}

// insert adds the field as the first line below spec, above any comment on the first field. If the first field is on
// the line of spec, it adds the field in front of that one.
func (r roots) insert(text string, spec diagnostic.Position, first *yamltree.Node) string {
	at := r.source.At(first)
	line := r.source.LineAt(at)
	if at.Line > spec.Line {
		indent, rest := cutColumn(line, at.Column)
		if strings.TrimLeft(indent, " ") == "" && !strings.HasPrefix(rest, "{") {
			start, end := lineBounds(text, spec.Line)
			if end == start || !isLineEnd(text[end-1]) {
				return text
			}
			ending := "\n"
			if strings.HasSuffix(text[start:end], "\r\n") {
				ending = "\r\n"
			}
			return text[:end] + indent + "suspend: true" + ending + text[end:]
		}
	}
	field := "suspend: true, "
	if _, rest := cutColumn(line, at.Column); strings.HasPrefix(rest, `"`) {
		field = `"suspend": true, ` // JSON
	}
	return splice(text, at, "", field)
}

// remove resumes a rule: it removes what insert adds, or else sets the value to false.
func (r roots) remove(text string, key, value *yamltree.Node) string {
	at := r.source.At(key)
	start, end := lineBounds(text, at.Line)
	if strings.TrimSpace(text[start:end]) == "suspend: true" {
		return text[:start] + text[end:]
	}
	for _, field := range []string{"suspend: true, ", `"suspend": true, `} {
		if _, rest := cutColumn(r.source.LineAt(at), at.Column); strings.HasPrefix(rest, field) {
			return splice(text, at, field, "")
		}
	}
	return splice(text, r.source.At(value), value.Raw(), "false")
}

// isOnlyChange reports whether two texts differ in nothing but spec.suspend of one document, which has the wanted
// value.
func isOnlyChange(before, after roots, changed int, suspend bool) bool {
	if len(before.nodes) != len(after.nodes) {
		return false
	}
	for i := range before.nodes {
		a, b := before.nodes[i], after.nodes[i]
		if i == changed {
			if is, _ := valueOf(b.Get("spec").Get("suspend")).(bool); is != suspend {
				return false
			}
			a, b = withoutSuspend(a), withoutSuspend(b)
		}
		if a.Hash() != b.Hash() {
			return false
		}
	}
	return true
}

func withoutSuspend(root *yamltree.Node) *yamltree.Node {
	return root.With("spec", root.Get("spec").Without("suspend"))
}

// splice replaces before with after at a position. It returns the text unchanged if before is not there.
func splice(text string, at diagnostic.Position, before, after string) string {
	start, end := lineBounds(text, at.Line)
	head, rest := cutColumn(text[start:end], at.Column)
	if !strings.HasPrefix(rest, before) {
		return text
	}
	from := start + len(head)
	return text[:from] + after + text[from+len(before):]
}

// lineBounds returns the offsets of a line's start and of the next line's start. Lines count from 1.
func lineBounds(text string, line int) (start, end int) {
	rest := strings.TrimPrefix(text, diagnostic.ByteOrderMark)
	for n := 1; ; n++ {
		_, ending, after := diagnostic.CutLine(rest)
		if start, end = len(text)-len(rest), len(text)-len(after); n == line || ending == "" {
			return start, end
		}
		rest = after
	}
}

// cutColumn splits a line before a column. Columns count characters from 1.
func cutColumn(line string, column int) (before, rest string) {
	at := diagnostic.ByteOf(line, column-1)
	return line[:at], line[at:]
}

func isLineEnd(b byte) bool { return b == '\n' || b == '\r' }
