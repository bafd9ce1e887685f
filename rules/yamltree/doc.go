// Package yamltree reads YAML and keeps the position of everything in it, down to a byte
// within a quoted or folded string. It does not know what a rule is.
//
// A [Source] is the text of a file, of a key of a ConfigMap in a file, or of an object. Its
// documents are parsed one by one, so that a mistake in one does not affect the others, and
// built into [Node] trees in which aliases and merge keys are resolved:
//
//	src := yamltree.New("rule.yaml", data)
//	for _, doc := range src.Documents() {
//		roots, finding := src.Parse(doc) // the finding is a mistake in the YAML
//		for _, root := range roots {
//			node := src.Build(root, &findings) // nil if nothing can be used
//			...
//		}
//	}
//
// Nodes have no positions of their own. The source gives them, so that one tree serves a
// file, a ConfigMap and an object, whose positions are paths instead of lines:
//
//	src.At(node)         // rule.yaml:12:7, where the node begins
//	src.Within(node, 8)  // rule.yaml:12:16, the eighth byte of its text
//
// A node that lacks something because of a reported mistake is Partial and lists what is
// Lost. A caller does not report what follows from that.
//
// Documents can be hostile: bounds.go has the limits, which build.go and parse.go keep.
// source.go has lines and positions, hidden.go what is hidden of them, locate.go the
// positions inside of scalars, objectpath.go the paths in objects, and node.go the tree.
package yamltree
