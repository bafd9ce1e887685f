package syntax

import (
	"slices"

	"kanon.dev/kanon/rules/yamltree"
)

// booleanWords are booleans without quotes in YAML 1.1, which kubectl reads, and text in YAML 1.2.
var booleanWords = []string{ //nolint:gochecknoglobals // a table
	"y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off", "OFF",
}

// booleanWordsIn are the keys and values below a node that kubectl reads as booleans, and Kanon as text.
func booleanWordsIn(n *yamltree.Node) []*yamltree.Node {
	if n == nil {
		return nil
	}
	var found []*yamltree.Node
	if text, ok := n.Text(); ok && n.IsPlain() && slices.Contains(booleanWords, text) {
		found = append(found, n)
	}
	for _, field := range n.Fields {
		found = append(append(found, booleanWordsIn(field.Key)...), booleanWordsIn(field.Value)...)
	}
	for _, item := range n.Items {
		found = append(found, booleanWordsIn(item)...)
	}
	return found
}
