// Package yamltree reads YAML and keeps the position of every part, down to a byte in a quoted or folded string. It
// does not know what a rule is.
//
// A [Source] is the text of a file, of a key of a ConfigMap in a file, or of an object. Its documents are parsed one by
// one, so that a mistake in one does not affect the others. [Source.Build] makes [Node] trees of them, in which aliases
// and merge keys are resolved:
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
// The source gives the positions of nodes, so that the same tree serves a file, a ConfigMap and an object, in which
// positions are paths instead of lines:
//
//	src.At(node)         // rule.yaml:12:7, where the node begins
//	src.Within(node, 8)  // rule.yaml:12:16, the eighth byte of its text
//
// A node that lacks a part because of a reported mistake is Partial and lists the names of missing fields in Lost.
// Callers do not report consequences of that.
//
// Documents can be hostile: build.go has the limits, which it and parse.go enforce. source.go has lines, positions, the
// paths in objects and the parts of lines that nobody is shown, and node.go the tree and the walk over it. scanner.go has
// the positions inside scalars, and splits their text into literal text and expressions; it knows where they end, and not
// what they mean.
package yamltree
