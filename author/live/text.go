package live

import (
	"errors"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// errText reports that no single line of a text can be changed to set the field.
var errText = errors.New("its text cannot be changed in one place without a change elsewhere; set spec.suspend by hand")

// SetSuspend sets spec.suspend of a rule in a text, in a line of its own. It keeps comments and layout. Resuming removes
// a line that only suspends the rule, so that the text is as before. defaultNamespace is that of rules without a
// namespace.
func SetSuspend(text []byte, rule types.NamespacedName, defaultNamespace string, suspend bool) ([]byte, error) {
	source, before := rootsOf(text)
	for i, root := range before {
		if nameOfRule(root, defaultNamespace) != rule {
			continue
		}
		changed := setSuspend(string(text), source, root, suspend)
		if _, after := rootsOf([]byte(changed)); !isOnlyChange(before, after, i, suspend) {
			return nil, errText
		}
		return []byte(changed), nil
	}
	return nil, errText
}

// rootsOf returns the documents of a text.
func rootsOf(text []byte) (source *yamltree.Source, roots []*yamltree.Node) {
	source = yamltree.New("", text)
	for _, document := range source.Documents() {
		parsed, _ := source.Parse(document) // a document that is not YAML has no rule
		for _, node := range parsed {
			if root := source.Build(node, &diagnostic.List{}); root != nil {
				roots = append(roots, root)
			}
		}
	}
	return source, roots
}

// nameOfRule is the name of a rule; empty for other kinds.
func nameOfRule(root *yamltree.Node, defaultNamespace string) types.NamespacedName {
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

// setSuspend returns the text with spec.suspend set in one of its documents. It adds the field as the first line below
// spec, above any comment on the first field. The text is unchanged if spec is not written in lines.
func setSuspend(text string, source *yamltree.Source, root *yamltree.Node, suspend bool) string {
	specKey, spec := root.Step("spec")
	if spec == nil || spec.Kind != yamltree.Mapping || len(spec.Fields) == 0 {
		return text
	}
	var lines []string // as YAML counts them
	for rest := text; rest != ""; {
		line, ending, after := diagnostic.CutLine(rest)
		lines, rest = append(lines, line+ending), after
	}
	key, value := spec.Step("suspend")
	if value != nil {
		line := &lines[source.At(key).Line-1]
		if is, _ := value.Value.(bool); is == suspend {
			return text
		}
		if *line = strings.Replace(*line, value.Raw(), strconv.FormatBool(suspend), 1); strings.TrimSpace(*line) == "suspend: false" {
			*line = ""
		}
	} else if first, at := source.At(spec.Fields[0].Key), source.At(specKey); suspend && first.Line > at.Line {
		line := &lines[at.Line-1]
		_, ending, _ := diagnostic.CutLine(*line)
		*line += strings.Repeat(" ", first.Column-1) + "suspend: true" + ending
	}
	return strings.Join(lines, "")
}

// isOnlyChange reports whether two texts differ in nothing but spec.suspend of one document, which has the wanted
// value.
func isOnlyChange(before, after []*yamltree.Node, changed int, suspend bool) bool {
	if len(before) != len(after) {
		return false
	}
	for i := range before {
		a, b := before[i], after[i]
		if i == changed {
			is := false
			if value := b.Get("spec").Get("suspend"); value != nil {
				is, _ = value.Value.(bool)
			}
			if is != suspend {
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
