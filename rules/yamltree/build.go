package yamltree

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kanon.dev/kanon/rules/diagnostic"
)

// Build makes a Node of a node that Parse returned. It returns nil if no part of it is usable; the reason is in
// findings.
func (s *Source) Build(n *yaml.Node, findings *diagnostic.List) *Node {
	b := &builder{src: s, findings: findings, anchors: map[*yaml.Node]*Node{}}
	return b.build(n, 0)
}

// Decode decodes a text with one document as rules are read; an empty text is nil.
func Decode(text string) (any, error) {
	roots, err := parseYAML(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("not YAML: %w", err)
	case len(roots) == 0:
		return nil, nil
	case len(roots) > 1:
		return nil, errors.New("more than one document")
	}
	var wrong diagnostic.List
	n := New("", []byte(text)).Build(roots[0], &wrong)
	if len(wrong) > 0 {
		return nil, fmt.Errorf("line %d: %s", wrong[0].Line, wrong[0].Message)
	}
	return n.Plain(), nil
}

type builder struct {
	src      *Source
	findings *diagnostic.List
	// anchors has the node of each anchor; nil while the node is being built.
	anchors map[*yaml.Node]*Node
	// merged counts the fields that << copied from other mappings.
	merged int
}

func (b *builder) report(n *yaml.Node, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return b.findings.Report(b.src.at(n), code, format, args...).About(n.Kind == yaml.ScalarNode)
}

// build returns nil after a finding.
func (b *builder) build(n *yaml.Node, depth int) *Node {
	if depth > maxDepth {
		b.report(n, diagnostic.CodeTooDeep, "nested deeper than %d levels", maxDepth)
		return nil
	}
	var out *Node
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
	if out != nil && (out.Size > maxNodes || b.merged > maxNodes) {
		b.report(n, diagnostic.CodeTooManyValues, "more than %s values once its aliases are followed", diagnostic.Number(maxNodes))
		delete(b.anchors, n) // otherwise its aliases would grow further
		return nil
	}
	return out
}

func (b *builder) alias(n *yaml.Node) *Node {
	target, ok := b.anchors[n.Alias]
	switch {
	case !ok:
		return nil // the anchored node had a mistake, which was reported
	case target == nil:
		b.report(n, diagnostic.CodeEndlessAlias, "*%s refers to a value that it is part of", n.Value)
	}
	return target
}

// anchored builds a node and registers its anchor, if it has one.
func (b *builder) anchored(n *yaml.Node, build func() *Node) *Node {
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

func (b *builder) sequence(n *yaml.Node, depth int) *Node {
	return b.anchored(n, func() *Node {
		out := &Node{Kind: Sequence, yaml: n, Size: 1}
		for _, c := range n.Content {
			item := b.build(c, depth+1)
			if item == nil {
				out.Lost, out.Partial = append(out.Lost, ""), true
				continue
			}
			out.Partial = out.Partial || item.Partial
			out.Items = append(out.Items, item)
			out.Size += item.Size
			out.Expressions += item.Expressions
		}
		return out
	})
}

func (b *builder) mapping(n *yaml.Node, depth int) *Node {
	return b.anchored(n, func() *Node {
		out := &Node{Kind: Mapping, yaml: n, Size: 1}
		seen := map[string]*yaml.Node{}
		var merged []*Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			if k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge" {
				merged = append(merged, b.merge(v, depth)...)
				continue
			}
			name, key := b.key(k)
			value := b.build(v, depth+1)
			if key == nil || value == nil {
				out.Lost, out.Partial = append(out.Lost, name), true
				continue
			}
			out.Partial = out.Partial || value.Partial
			if first, ok := seen[name]; ok {
				b.report(k, diagnostic.CodeDuplicateKey, "duplicate field %q: it is in line %d already", name, b.src.at(first).Line).
					WithRelated(b.src.at(first), "the first one")
				continue
			}
			seen[name] = k
			out.Fields = append(out.Fields, Field{Name: name, Key: key, Value: value})
			out.Size += value.Size
			out.Expressions += key.Expressions + value.Expressions
		}
		b.addMerged(out, merged, seen)
		return out
	})
}

// addMerged adds the fields of merged mappings. The mapping's own fields take precedence, then those of earlier merged
// mappings. seen has the keys of the fields so far.
func (b *builder) addMerged(out *Node, merged []*Node, seen map[string]*yaml.Node) {
	for _, m := range merged {
		out.Partial = out.Partial || m.Partial
		if b.merged += len(m.Fields); b.merged > maxNodes {
			break
		}
		for _, f := range m.Fields {
			if _, ok := seen[f.Name]; !ok {
				seen[f.Name] = f.Key.yaml
				out.Fields = append(out.Fields, f)
				out.Size += f.Value.Size
				out.Expressions += f.Key.Expressions + f.Value.Expressions
			}
		}
	}
}

// key returns the key of a field, which must be a scalar. Keys that YAML reads as numbers or booleans are text, as in
// JSON.
func (b *builder) key(n *yaml.Node) (string, *Node) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		b.report(n, diagnostic.CodeBadKey, "a key must be a string").WithHint("put quotes around a value that begins with { or [")
		return "", nil
	}
	return n.Value, &Node{Kind: Scalar, yaml: n, Value: n.Value, Size: 1, Expressions: strings.Count(n.Value, expressionStart)}
}

func (b *builder) merge(n *yaml.Node, depth int) []*Node {
	from := b.build(n, depth+1)
	switch {
	case from == nil:
		return nil
	case from.Kind == Mapping:
		return []*Node{from}
	case from.Kind == Sequence && !slices.ContainsFunc(from.Items, func(i *Node) bool { return i.Kind != Mapping }):
		return from.Items
	}
	b.report(n, diagnostic.CodeBadMerge, "<< takes a mapping or a list of mappings")
	return nil
}

func (b *builder) scalar(n *yaml.Node) *Node {
	value, hint, err := scalarValue(n)
	if err != nil {
		b.report(n, diagnostic.CodeBadScalar, "%s", err.Error()).WithHint("%s", hint)
		return nil
	}
	out := &Node{Kind: Scalar, yaml: n, Value: value, Size: 1, Expressions: strings.Count(n.Value, expressionStart)}
	if n.Anchor != "" {
		b.anchors[n] = out
	}
	return out
}

// scalarValue returns the value of a scalar, or an error with a hint.
func scalarValue(n *yaml.Node) (value any, hint string, err error) {
	const asText = "put quotes around it if it is meant as text"
	if value, ok := decoded(n); ok {
		return value, "", nil
	}
	switch tag := n.ShortTag(); {
	case tag == "!!bool":
		return nil, "", fmt.Errorf("%q is not a boolean", n.Value)
	case tag == "!!int":
		return nil, asText, fmt.Errorf("%s does not fit an integer of 64 bits", n.Value)
	case tag == "!!float":
		return nil, asText, fmt.Errorf("%s is not a number that JSON has", n.Value)
	case strings.HasPrefix(tag, "!!"):
		return nil, "", fmt.Errorf("the tag %s has no meaning here", tag)
	default:
		return nil, "put quotes around a value that begins with !", fmt.Errorf("the tag %s has no meaning here", tag)
	}
}

// decoded returns the value of a scalar: a string, nil, a bool, an int64, or a float64 that JSON has. ok is false if the
// scalar has none of these.
func decoded(n *yaml.Node) (value any, ok bool) {
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return n.Value, true
	case "!!null":
		return nil, true
	case "!!bool":
		return decodedAs[bool](n)
	case "!!int":
		return decodedAs[int64](n)
	case "!!float":
		v, ok := decodedAs[float64](n)
		return v, ok && !math.IsNaN(v) && !math.IsInf(v, 0)
	default:
		return nil, false
	}
}

func decodedAs[T any](n *yaml.Node) (value T, ok bool) {
	err := n.Decode(&value)
	return value, err == nil
}

// A document may be hostile. These bounds keep the memory and the time to read it proportional to its length.
const (
	// MaxDocuments is how many documents a source may have.
	MaxDocuments = 5_000
	// maxNodes is how many nodes a document may have after its aliases are resolved. The largest object that etcd takes,
	// 1.5 MiB, has fewer.
	maxNodes = 200_000
	// maxDepth is how many levels a document may have, as in the JSON decoder of Kubernetes.
	maxDepth = 100

	// A document that does not parse is parsed again, in parts, to find the mistake: at most maxProbes times, and at most
	// maxProbed bytes of a source. Each time counts as at least leastProbed bytes. Parsing takes about 100 ns per byte.
	maxProbes, maxProbed, leastProbed = 200, 4 << 20, 4 << 10
)

// expressionStart begins an expression in a value. Package scanner knows where an expression ends; this package only
// counts expressions.
const expressionStart = "${"
