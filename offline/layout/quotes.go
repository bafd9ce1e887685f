package layout

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// quoted is a quoted text without its quotes, if that is the same text, or else raw. inFlow is true within a flow
// mapping or list.
func (p *page) quoted(n *yaml.Node, raw string, inFlow bool) string {
	if n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return raw
	}
	forms := []string{"k: %s", "- %s"}
	if inFlow {
		if strings.ContainsAny(n.Value, "{}[],") {
			return raw
		}
		forms = []string{"{k: %s}", "[%s]", "[%s, %[1]s]"}
	}
	for _, form := range forms {
		if !isPlain(fmt.Sprintf(form, n.Value), n.Value) {
			return raw
		}
	}
	return n.Value
}

// quotedKey is quoted for a field name.
func (p *page) quotedKey(n *yaml.Node, raw string, inFlow bool) string {
	form := "%s: %s"
	if inFlow {
		form = "{%s: %s}"
	}
	if n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 || n.Value == "<<" || !isPlain(fmt.Sprintf(form, n.Value, "'v'"), n.Value) {
		return raw
	}
	return n.Value
}

// isPlain reports whether the value in a YAML text without quotes is read back as the same string. Values of digits and
// signs keep their quotes: some parsers read them as a version, time or number, as YAML 1.1 does with 12:30.
func isPlain(text, value string) bool {
	if value == "" || strings.ContainsAny(value, "#\n\r\t\\") || isOldBoolean(value) || strings.Trim(value, "0123456789+-.,:_") == "" {
		return false
	}
	root := parse(text)
	if root == nil || root.HeadComment+root.LineComment+root.FootComment != "" {
		return false
	}
	for i, n := range root.Content {
		isName := root.Kind == yaml.MappingNode && i%2 == 0
		if isName && n.Value == "k" || n.Style&yaml.SingleQuotedStyle != 0 {
			continue
		}
		if n.Kind != yaml.ScalarNode || n.Style != 0 || n.ShortTag() != "!!str" || n.Value != value {
			return false
		}
	}
	// kubectl parses YAML 1.1.
	var old any
	if err := sigsyaml.Unmarshal([]byte(text), &old); err != nil {
		return false
	}
	switch old := old.(type) {
	case map[string]any:
		return len(old) == 1 && (old["k"] == value || old[value] == "v")
	case []any:
		return !slices.ContainsFunc(old, func(item any) bool { return item != value })
	}
	return false
}

// isOldBoolean reports whether a text is a boolean or null in YAML 1.1. Parsers differ in which of these they support.
func isOldBoolean(s string) bool {
	return slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~"}, strings.ToLower(s))
}
