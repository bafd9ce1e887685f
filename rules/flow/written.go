package flow

import (
	"slices"
	"strings"

	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/yamltree"
)

// writtenField is a field that a template sets.
type writtenField struct {
	Path []string
	as   writtenAs
}

// writtenAs is how a template sets a field.
type writtenAs uint8

const (
	// asValue sets the field as a whole.
	asValue writtenAs = iota
	// asComputed sets it, or some of its keys, with an expression.
	asComputed
	// asList sets items of a list, which may have items of others.
	asList
)

// Written lists the fields that a template sets. path is the path of n.
func Written(n *yamltree.Node, path []string) []writtenField {
	switch n.Kind {
	case yamltree.Sequence:
		return []writtenField{{Path: path, as: asList}}
	case yamltree.Scalar:
		if _, whole := scanner.WholeOf(n); whole {
			return []writtenField{{Path: path, as: asComputed}}
		}
		return []writtenField{{Path: path}}
	}
	var out []writtenField
	for _, f := range n.Fields {
		if scanner.HasExpression(f.Name) {
			out = append(out, writtenField{Path: path, as: asComputed})
			continue
		}
		out = append(out, Written(f.Value, append(slices.Clip(path), f.Name))...)
	}
	return out
}

// IsReadBy reports whether a read contains the written field, or is a part of it.
func (w writtenField) IsReadBy(r FieldRead) bool {
	path := r.path
	at := slices.Index(path, anyKey)
	if at >= 0 {
		path = path[:at]
	}
	for i := range min(len(path), len(w.Path)) {
		if path[i] != w.Path[i] {
			return false
		}
	}
	switch {
	case len(path) > len(w.Path), len(path) == len(w.Path) && at >= 0:
		return w.as == asValue // of the others it may be another part
	case len(path) == len(w.Path):
		return w.as != asList
	default:
		return !r.asks // what contains the field exists without it too
	}
}

// ObjectText is the name and namespace of an object as written in the rule. Equal texts give the same object for one
// parent.
type ObjectText struct{ Name, namespace string }

// ObjectTextOf is the ObjectText of two fields. The parent's namespace is empty.
func ObjectTextOf(name, namespace *yamltree.Node) ObjectText {
	var out ObjectText
	if text, ok := name.Text(); ok {
		out.Name = SameText(text)
	}
	if text, ok := namespace.Text(); ok && SameText(text) != "${parent.metadata.namespace}" {
		out.namespace = SameText(text)
	}
	return out
}

// SameText is a text without blanks at the ends of its expressions.
func SameText(s string) string {
	parts, err := scanner.Scan(s)
	if err != nil {
		return s
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Expr {
			b.WriteString("${" + strings.TrimSpace(p.Text) + "}")
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}
