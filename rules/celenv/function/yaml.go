package function

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	yaml "go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"kanon.dev/kanon/rules/celenv/value"
	"kanon.dev/kanon/rules/yamltree"
)

const (
	// maxYAML is the longest YAML, in bytes, that is read or written. Both take about a microsecond per byte, and cannot
	// be interrupted.
	maxYAML = 256 << 10
	// yamlFactor is how much slower YAML is than JSON.
	yamlFactor = 10
)

func yamlFunctions() []*Function {
	return []*Function{
		{
			name:       "toYaml",
			signatures: []signature{{id: "kanon_toYaml", args: []*cel.Type{cel.DynType}, result: cel.StringType}},
			class:      costChecked,
			bytes:      atMost(maxYAML),
			call:       toYAMLText,
			cost:       func(_ []ref.Val, result ref.Val) uint64 { return yamlFactor * textUnits(result) },
		},
		{
			name:       "fromYaml",
			signatures: []signature{{id: "kanon_fromYaml", args: []*cel.Type{cel.StringType}, result: cel.DynType}},
			class:      costChecked,
			bytes:      atMost(maxCall),
			longest:    maxYAML,
			limits:     limitYAML,
			call:       fromYAMLText,
			cost:       func(args []ref.Val, _ ref.Val) uint64 { return yamlFactor * textUnits(args...) },
		},
	}
}

func toYAMLText(args []ref.Val) ref.Val {
	text, err := encodeJSON(args[0], maxYAML)
	if err != nil {
		return types.NewErr("toYaml: %v", err)
	}
	out, err := sigsyaml.JSONToYAML([]byte(text))
	if err != nil {
		return types.NewErr("toYaml: %v", err)
	}
	if len(out) > maxYAML {
		return types.NewErr("toYaml: %v", value.TooLongError(maxYAML))
	}
	return types.String(out)
}

func fromYAMLText(args []ref.Val) ref.Val {
	text, ok := args[0].(types.String)
	if !ok {
		return typeError("fromYaml", 1, "a string", args[0])
	}
	val, err := decodeYAML(string(text))
	if err != nil {
		return types.NewErr("fromYaml: %v", err)
	}
	return value.FromJSON(val)
}

// decodeYAML decodes one document in the same way as rules are read.
func decodeYAML(text string) (any, error) {
	var doc, more yaml.Node
	dec := yaml.NewDecoder(strings.NewReader(text))
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	r := &yamlReader{left: maxCall}
	return r.value(doc.Content[0], 0)
}

// yamlReader converts nodes to decoded JSON. It resolves aliases, so left bounds the size of the result. An alias that
// contains itself ends at MaxDepth.
type yamlReader struct {
	left int
}

func (r *yamlReader) value(n *yaml.Node, depth int) (any, error) {
	if depth > value.MaxDepth {
		return nil, value.ErrTooDeep
	}
	if r.left -= value.ValueBytes + value.ItemBytes + len(n.Value); n.Kind == yaml.MappingNode {
		r.left -= mapBytes
	}
	if r.left < 0 {
		return nil, value.TooLongError(maxCall)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			val, err := r.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			list[i] = val
		}
		return list, nil
	case yaml.MappingNode:
		return r.mapping(n, depth)
	default:
		return yamlScalar(n)
	}
}

func (r *yamlReader) mapping(n *yaml.Node, depth int) (any, error) {
	out := make(map[string]any, len(n.Content)/2)
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		switch {
		case key.Kind != yaml.ScalarNode:
			return nil, fmt.Errorf("line %d: a key must be a string", key.Line)
		case key.ShortTag() == "!!merge":
			merged = append(merged, val)
			continue
		}
		if _, twice := out[key.Value]; twice {
			return nil, fmt.Errorf("line %d: the key %q exists twice", key.Line, key.Value)
		}
		field, err := r.value(val, depth+1)
		if err != nil {
			return nil, err
		}
		out[key.Value] = field
	}
	for _, from := range merged {
		if err := r.merge(out, from, depth); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// merge adds the fields that << takes from a mapping, or from a list of mappings. Existing fields stay.
func (r *yamlReader) merge(out map[string]any, from *yaml.Node, depth int) error {
	val, err := r.value(from, depth+1)
	if err != nil {
		return err
	}
	list, isList := val.([]any)
	if !isList {
		list = []any{val}
	}
	for _, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			return fmt.Errorf("line %d: << takes a mapping or a list of mappings", from.Line)
		}
		for name, field := range fields {
			if _, has := out[name]; !has {
				out[name] = field
			}
		}
	}
	return nil
}

func yamlScalar(n *yaml.Node) (any, error) {
	if val, ok := yamltree.Decoded(n); ok {
		return val, nil
	}
	switch tag := n.ShortTag(); tag {
	case "!!bool", "!!int", "!!float":
		return nil, fmt.Errorf("line %d: %s is not a number or truth value that can be kept; put quotes around it if it is text", n.Line, n.Value)
	default:
		return nil, fmt.Errorf("line %d: the tag %s is not understood", n.Line, tag)
	}
}
