package yamltree

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"iter"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Kind is the kind of a node.
type Kind uint8

// The kinds of nodes.
const (
	Scalar Kind = iota
	Mapping
	Sequence
)

// Node is a YAML node with its aliases and merge keys resolved. Aliases share the node of their anchor, so a node must
// not be changed.
type Node struct {
	Kind Kind
	// yaml has the position and the style of the node.
	yaml *yaml.Node
	// Value is the value of a scalar: nil, bool, int64, float64 or string.
	Value any
	// Fields are the fields of a mapping, in the order of the document.
	Fields []Field
	// Items are the items of a sequence.
	Items []*Node
	// Lost has the names of fields of a mapping that are not in Fields, because they have mistakes that were reported. For
	// a sequence it has an empty name for each missing item.
	Lost []string
	// Partial is true if this node or one below has Lost entries.
	Partial bool
	// Size is the number of nodes: this one and all below.
	Size int
	// Expressions is the number of expressions in this node and below.
	Expressions int
}

// Field is one entry of a mapping.
type Field struct {
	Name  string
	Key   *Node
	Value *Node
}

func (n *Node) field(name string) *Field {
	if n == nil {
		return nil
	}
	for i := range n.Fields {
		if n.Fields[i].Name == name {
			return &n.Fields[i]
		}
	}
	return nil
}

// Get returns the value of a mapping's field, or nil.
func (n *Node) Get(name string) *Node {
	if f := n.field(name); f != nil {
		return f.Value
	}
	return nil
}

// Entries returns the fields of a mapping. It returns nil for every other node, and for nil.
func (n *Node) Entries() []Field {
	if n == nil {
		return nil
	}
	return n.Fields
}

// Has reports whether a mapping has the field, even if its value could not be read.
func (n *Node) Has(name string) bool {
	return n.Get(name) != nil || n != nil && slices.Contains(n.Lost, name)
}

// KeyOf returns the key of a mapping's field; nil if the mapping does not have it, or if its value could not be read.
func (n *Node) KeyOf(name string) *Node {
	if f := n.field(name); f != nil {
		return f.Key
	}
	return nil
}

// All iterates over a node and all nodes below it, outer ones first and a key before its value. isKey is true for keys.
// It is empty for nil.
func (n *Node) All() iter.Seq2[*Node, bool] {
	return func(yield func(n *Node, isKey bool) bool) { n.each(false, yield) }
}

func (n *Node) each(isKey bool, yield func(n *Node, isKey bool) bool) bool {
	if n == nil {
		return true
	}
	goesOn := yield(n, isKey)
	for _, f := range n.Fields {
		goesOn = goesOn && f.Key.each(true, yield) && f.Value.each(false, yield)
	}
	for _, item := range n.Items {
		goesOn = goesOn && item.each(false, yield)
	}
	return goesOn
}

// Text returns the value of a string, and false for any other node.
func (n *Node) Text() (string, bool) {
	if n == nil || n.Kind != Scalar {
		return "", false
	}
	s, ok := n.Value.(string)
	return s, ok
}

// What names the type of the node in a message.
func (n *Node) What() string {
	switch n.Kind {
	case Mapping:
		return "a mapping"
	case Sequence:
		return "a list"
	}
	switch n.Value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	}
	return "a string"
}

// WhatOrEmpty is What, but "empty" for the empty string.
func (n *Node) WhatOrEmpty() string {
	if text, ok := n.Text(); ok && text == "" {
		return "empty"
	}
	return n.What()
}

// Plain returns the node as decoded JSON.
func (n *Node) Plain() any {
	switch n.Kind {
	case Mapping:
		m := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			m[f.Name] = f.Value.Plain()
		}
		return m
	case Sequence:
		l := make([]any, len(n.Items))
		for i, item := range n.Items {
			l[i] = item.Plain()
		}
		return l
	}
	return n.Value
}

// Hash returns 16 hex digits that change when the content changes. The order of keys, comments and style do not count.
func (n *Node) Hash() string {
	sum := sha256.New()
	n.hashInto(sum)
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func (n *Node) hashInto(h hash.Hash) {
	writeText := func(s string) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(s)))
		h.Write(length[:])
		h.Write([]byte(s))
	}
	writeText(strconv.Itoa(int(n.Kind)))
	switch n.Kind {
	case Mapping:
		sorted := slices.Clone(n.Fields)
		slices.SortFunc(sorted, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
		writeText(strconv.Itoa(len(sorted)))
		for _, f := range sorted {
			writeText(f.Name)
			f.Value.hashInto(h)
		}
	case Sequence:
		writeText(strconv.Itoa(len(n.Items)))
		for _, item := range n.Items {
			item.hashInto(h)
		}
	default:
		writeText(fmt.Sprintf("%T %v", n.Value, n.Value))
	}
}

// Step returns the value of a field, or of an item by its index, and the node that names it: the key of the field, or
// the item itself. Both are nil if there is no such field or item.
func (n *Node) Step(name string) (key, value *Node) {
	if f := n.field(name); f != nil {
		return f.Key, f.Value
	}
	if i, err := strconv.Atoi(name); err == nil && n.Kind == Sequence && i >= 0 && i < len(n.Items) {
		return n.Items[i], n.Items[i]
	}
	return nil, nil
}

// Without returns a copy of a mapping without one of its fields.
func (n *Node) Without(name string) *Node {
	left := *n
	left.Fields = slices.DeleteFunc(slices.Clone(n.Fields), func(f Field) bool { return f.Name == name })
	return &left
}

// With returns a copy of a mapping in which an existing field has another value.
func (n *Node) With(name string, value *Node) *Node {
	out := *n
	out.Fields = slices.Clone(n.Fields)
	for i := range out.Fields {
		if out.Fields[i].Name == name {
			out.Fields[i].Value = value
		}
	}
	return &out
}

// Shown returns the text of a scalar, or the type of any other node.
func (n *Node) Shown() string {
	if n.Kind == Scalar {
		return n.yaml.Value
	}
	return n.What()
}

// Raw returns the text of a scalar of any type. It is empty for other nodes.
func (n *Node) Raw() string { return n.yaml.Value }

// IsPlain reports whether the document writes a scalar without quotes and not as a block.
func (n *Node) IsPlain() bool {
	return n.yaml.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// Literal returns a scalar with the quotes that the document has around it, if any. Escapes are resolved, so the result
// can differ from the text of the document.
func (n *Node) Literal() string {
	switch {
	case n.yaml.Style&yaml.DoubleQuotedStyle != 0:
		return `"` + n.yaml.Value + `"`
	case n.yaml.Style&yaml.SingleQuotedStyle != 0:
		return "'" + n.yaml.Value + "'"
	}
	return n.yaml.Value
}

// Comment returns the text of the comments above a field and behind it, or "".
func (f *Field) Comment() string {
	var text []string
	for _, comment := range []string{f.Key.yaml.HeadComment, f.Key.yaml.LineComment, f.Value.yaml.LineComment} {
		for line := range strings.Lines(comment) {
			if line = strings.TrimSpace(strings.TrimLeft(line, "#")); line != "" {
				text = append(text, line)
			}
		}
	}
	return strings.Join(text, " ")
}

// HasComment reports whether a comment follows on the line of the node.
func (n *Node) HasComment() bool { return n.yaml.LineComment != "" }
