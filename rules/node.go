package rules

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/diagnostic"
)

const (
	// maxNodes is how many YAML nodes one document may have once its aliases
	// are followed. The largest object that etcd takes, 1.5 MiB, has fewer.
	maxNodes = 200_000
	// maxRuleValues is how many of them a rule may have, and maxExpressions how many
	// expressions: ten times what is found in the largest rules.
	maxRuleValues, maxExpressions = 20_000, 5_000
	// maxDepth is how deep a document may nest, as in Kubernetes' own decoder
	// of JSON.
	maxDepth = 100
)

// nodeKind says what a node is.
type nodeKind uint8

const (
	scalarNode nodeKind = iota
	mappingNode
	sequenceNode
)

// node is a YAML node whose aliases and merge keys have been followed. Nodes
// below an anchor are shared by all who refer to it, so it is never changed.
type node struct {
	kind nodeKind
	// yaml holds the position and the style of the node.
	yaml *yaml.Node
	// value is what a scalar stands for: nil, bool, int64, float64 or string.
	value any
	// fields are a mapping's, in the order of the document.
	fields []field
	// items are a sequence's.
	items []*node
	// lost are the fields of a mapping that are not in fields, because what is
	// wrong with their values was reported. A sequence has one for each item
	// that is missing.
	lost []string
	// partial is true where something is lost here or below.
	partial bool
	// size is the number of nodes from here on down.
	size int
	// expressions is how many expressions there are from here on down, at the most.
	expressions int
}

// field is one entry of a mapping.
type field struct {
	name  string
	key   *node
	value *node
}

// get returns the value of a mapping's field, or nil.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for _, f := range n.fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// has says whether a mapping has the field, be its value in order or not.
func (n *node) has(name string) bool {
	return n.get(name) != nil || n != nil && slices.Contains(n.lost, name)
}

// text is a string scalar's value.
func (n *node) text() (string, bool) {
	if n == nil || n.kind != scalarNode {
		return "", false
	}
	s, ok := n.value.(string)
	return s, ok
}

// what names the node's type for a message.
func (n *node) what() string {
	switch n.kind {
	case mappingNode:
		return "a mapping"
	case sequenceNode:
		return "a list"
	}
	switch n.value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	}
	return "a string"
}

// whatOrEmpty is what, with a word for text of which there is none.
func (n *node) whatOrEmpty() string {
	if text, ok := n.text(); ok && text == "" {
		return "empty"
	}
	return n.what()
}

// plain is the node as JSON.
func (n *node) plain() any {
	switch n.kind {
	case mappingNode:
		m := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			m[f.name] = f.value.plain()
		}
		return m
	case sequenceNode:
		l := make([]any, len(n.items))
		for i, item := range n.items {
			l[i] = item.plain()
		}
		return l
	}
	return n.value
}

// contentHash is 16 hex digits that say what the node says: the order of
// keys, comments and style do not matter.
func (n *node) contentHash() string {
	sum := sha256.New()
	n.hashInto(sum)
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func (n *node) hashInto(h hash.Hash) {
	writeText := func(s string) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(s)))
		h.Write(length[:])
		h.Write([]byte(s))
	}
	writeText(strconv.Itoa(int(n.kind)))
	switch n.kind {
	case mappingNode:
		sorted := slices.Clone(n.fields)
		slices.SortFunc(sorted, func(a, b field) int { return strings.Compare(a.name, b.name) })
		writeText(strconv.Itoa(len(sorted)))
		for _, f := range sorted {
			writeText(f.name)
			f.value.hashInto(h)
		}
	case sequenceNode:
		writeText(strconv.Itoa(len(n.items)))
		for _, item := range n.items {
			item.hashInto(h)
		}
	default:
		writeText(fmt.Sprintf("%T %v", n.value, n.value))
	}
}

// builder makes nodes of what the YAML parser gave.
type builder struct {
	src      *source
	findings *diagnostic.List
	// anchors holds the node of each anchor that is finished; an anchor that
	// is still being built holds nil.
	anchors map[*yaml.Node]*node
	// merged is how many fields << has taken from mappings.
	merged int
}

func (b *builder) report(n *yaml.Node, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return b.findings.Report(b.src.at(n), code, format, args...)
}

// build returns nil after it reported why there is no such node.
func (b *builder) build(n *yaml.Node, depth int) *node {
	if depth > maxDepth {
		b.report(n, diagnostic.CodeTooDeep, "nested deeper than %d levels", maxDepth)
		return nil
	}
	var out *node
	switch n.Kind {
	case yaml.AliasNode:
		return b.alias(n)
	case yaml.MappingNode:
		out = b.mapping(n, depth)
	case yaml.SequenceNode:
		out = b.sequence(n, depth)
	case yaml.ScalarNode:
		out = b.scalar(n)
	}
	if out != nil && (out.size > maxNodes || b.merged > maxNodes) {
		b.report(n, diagnostic.CodeTooManyValues, "more than %s values once its aliases are followed", diagnostic.Number(maxNodes))
		delete(b.anchors, n) // else those who refer to it would be larger still
		return nil
	}
	return out
}

func (b *builder) alias(n *yaml.Node) *node {
	target, ok := b.anchors[n.Alias]
	switch {
	case !ok:
		// The anchor stands in a part that was not well formed.
		return nil
	case target == nil:
		b.report(n, diagnostic.CodeEndlessAlias, "*%s refers to a value that it is part of", n.Value)
	}
	return target
}

// anchored keeps what an anchor names while and after it is built.
func (b *builder) anchored(n *yaml.Node, build func() *node) *node {
	if n.Anchor == "" {
		return build()
	}
	b.anchors[n] = nil
	out := build()
	if out == nil {
		delete(b.anchors, n)
		return nil
	}
	b.anchors[n] = out
	return out
}

func (b *builder) sequence(n *yaml.Node, depth int) *node {
	return b.anchored(n, func() *node {
		out := &node{kind: sequenceNode, yaml: n, size: 1}
		for _, c := range n.Content {
			item := b.build(c, depth+1)
			if item == nil {
				out.lost, out.partial = append(out.lost, ""), true
				continue
			}
			out.partial = out.partial || item.partial
			out.items = append(out.items, item)
			out.size += item.size
			out.expressions += item.expressions
		}
		return out
	})
}

func (b *builder) mapping(n *yaml.Node, depth int) *node {
	return b.anchored(n, func() *node {
		out := &node{kind: mappingNode, yaml: n, size: 1}
		seen := map[string]*yaml.Node{}
		var merged []*node
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			if k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge" {
				merged = append(merged, b.merge(v, depth)...)
				continue
			}
			name, key := b.key(k)
			value := b.build(v, depth+1)
			if key == nil || value == nil {
				out.lost, out.partial = append(out.lost, name), true
				continue
			}
			out.partial = out.partial || value.partial
			if first, ok := seen[name]; ok {
				b.report(k, diagnostic.CodeDuplicateKey, "duplicate field %q: it stands in line %d already", name, b.src.at(first).Line)
				continue
			}
			seen[name] = k
			out.fields = append(out.fields, field{name: name, key: key, value: value})
			out.size += value.size
			out.expressions += key.expressions + value.expressions
		}
		b.addMerged(out, merged, seen)
		return out
	})
}

// addMerged adds the fields of merged mappings to those that are written out, which win; so does the first of several merged
// mappings over the later ones. seen has the names that there are.
func (b *builder) addMerged(out *node, merged []*node, seen map[string]*yaml.Node) {
	for _, m := range merged {
		out.partial = out.partial || m.partial
		if b.merged += len(m.fields); b.merged > maxNodes {
			break
		}
		for _, f := range m.fields {
			if _, ok := seen[f.name]; !ok {
				seen[f.name] = f.key.yaml
				out.fields = append(out.fields, f)
				out.size += f.value.size
				out.expressions += f.key.expressions + f.value.expressions
			}
		}
	}
}

// key is a mapping's key, which must be text. Plain keys that YAML takes for
// numbers or booleans are meant as text, as in JSON.
func (b *builder) key(n *yaml.Node) (string, *node) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		b.report(n, diagnostic.CodeBadKey, "a key must be a string").WithHint("put quotes around a value that begins with { or [")
		return "", nil
	}
	return n.Value, &node{kind: scalarNode, yaml: n, value: n.Value, size: 1, expressions: strings.Count(n.Value, "${")}
}

// merge are the mappings that << takes fields from.
func (b *builder) merge(n *yaml.Node, depth int) []*node {
	from := b.build(n, depth+1)
	switch {
	case from == nil:
		return nil
	case from.kind == mappingNode:
		return []*node{from}
	case from.kind == sequenceNode && !slices.ContainsFunc(from.items, func(i *node) bool { return i.kind != mappingNode }):
		return from.items
	}
	b.report(n, diagnostic.CodeBadMerge, "<< takes a mapping or a list of mappings")
	return nil
}

func (b *builder) scalar(n *yaml.Node) *node {
	value, hint, err := scalarValue(n)
	if err != nil {
		b.report(n, diagnostic.CodeBadScalar, "%s", err.Error()).WithHint("%s", hint)
		return nil
	}
	out := &node{kind: scalarNode, yaml: n, value: value, size: 1, expressions: strings.Count(n.Value, "${")}
	if n.Anchor != "" {
		b.anchors[n] = out
	}
	return out
}

// scalarValue is what a scalar stands for, or why there is none and what to do.
func scalarValue(n *yaml.Node) (value any, hint string, err error) {
	const asText = "put quotes around it if it is meant as text"
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp":
		return n.Value, "", nil
	case "!!null":
		return nil, "", nil
	case "!!bool":
		var v bool
		if err := n.Decode(&v); err != nil {
			return nil, "", fmt.Errorf("%q is not a boolean", n.Value)
		}
		return v, "", nil
	case "!!int":
		var v int64
		if err := n.Decode(&v); err != nil {
			return nil, asText, fmt.Errorf("%s does not fit an integer of 64 bits", n.Value)
		}
		return v, "", nil
	case "!!float":
		var v float64
		if err := n.Decode(&v); err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, asText, fmt.Errorf("%s is not a number that JSON has", n.Value)
		}
		return v, "", nil
	default:
		return nil, "", fmt.Errorf("the tag %s has no meaning here", tag)
	}
}
