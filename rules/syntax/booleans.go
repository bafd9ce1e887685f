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
	var found []*yamltree.Node
	for n := range n.All() {
		if text, ok := n.Text(); ok && n.IsPlain() && slices.Contains(booleanWords, text) {
			found = append(found, n)
		}
	}
	return found
}
