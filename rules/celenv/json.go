package celenv

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// ErrTooDeep is the error of a value that nests deeper than MaxDepth.
var ErrTooDeep = fmt.Errorf("nested more than %d deep", maxDepth)

// tooLongError is a text of more bytes than there may be.
type tooLongError int

func (e tooLongError) Error() string { return fmt.Sprintf("more than %d bytes", int(e)) }

// keyTypeError is a key of a map that is not text.
type keyTypeError struct{ key ref.Val }

func (e keyTypeError) Error() string {
	return "the keys must be strings, and one is " + TypeText(e.key)
}

// maxDepth is how deep the values that are read from text, or written as text,
// may nest. The API server refuses objects that are deeper.
const maxDepth = 1000

func jsonFunctions() []*function {
	return []*function{
		{
			name:       "toJson",
			signatures: []signature{{id: "kanon_toJson", args: []*cel.Type{cel.DynType}, result: cel.StringType}},
			class:      costChecked,
			bytes:      atMost(maxText),
			call:       toJSONText,
		},
		{
			name:       "fromJson",
			signatures: []signature{{id: "kanon_fromJson", args: []*cel.Type{cel.StringType}, result: cel.DynType}},
			class:      costChecked,
			bytes:      decoded(),
			longest:    maxText,
			call:       fromJSONText,
			cost:       func(args []ref.Val, _ ref.Val) uint64 { return textUnits(args...) },
		},
	}
}

func toJSONText(args []ref.Val) ref.Val {
	text, err := encodeJSON(args[0], maxText)
	if err != nil {
		return types.NewErr("toJson: %v", err)
	}
	return types.String(text)
}

// encodeJSON writes a value as JSON of so many bytes at the most, keys sorted,
// without blanks.
func encodeJSON(val ref.Val, most int) (string, error) {
	plain, err := Plain(val, most)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(plain); err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	if b.Len() > most {
		return "", tooLongError(most)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

func fromJSONText(args []ref.Val) ref.Val {
	text, ok := args[0].(types.String)
	if !ok {
		return wrongType("fromJson", 1, "a string", args[0])
	}
	var val any
	if err := utiljson.Unmarshal([]byte(text), &val); err != nil {
		return types.NewErr("fromJson: %v", err)
	}
	if depth(val, 0) > maxDepth {
		return types.NewErr("fromJson: %v", ErrTooDeep)
	}
	return FromJSON(val)
}

// depth is how deep a value nests.
func depth(val any, above int) int {
	deepest := above
	switch v := val.(type) {
	case map[string]any:
		for _, field := range v {
			deepest = max(deepest, depth(field, above+1))
		}
	case []any:
		for _, item := range v {
			deepest = max(deepest, depth(item, above+1))
		}
	}
	return deepest
}

// plainer makes plain JSON of values for a text form. It differs from ToJSON
// in that null is kept, since it is what the author wrote, and in that it has a
// bound: a value can hold another many times over.
type plainer struct {
	// left is how many bytes the text may still have, at the least.
	left, most int
}

// Plain makes plain JSON of a value for a text of at most so many bytes. It differs from ToJSON
// in that null is kept, since it is what the author wrote. The error of a value that is too long is a TooLongError.
func Plain(val ref.Val, most int) (any, error) {
	p := &plainer{left: most, most: most}
	return p.value(val, 0)
}

func (p *plainer) value(val any, depth int) (any, error) {
	if v, ok := val.(ref.Val); ok {
		if depth > maxDepth {
			return nil, ErrTooDeep
		}
		if p.left--; p.left < 0 {
			return nil, tooLongError(p.most)
		}
		return p.celValue(v, depth)
	}
	return val, p.measure(val, depth)
}

// measure takes what is plain JSON already out of the bound.
func (p *plainer) measure(val any, depth int) error {
	if depth > maxDepth {
		return ErrTooDeep
	}
	if p.left--; p.left < 0 {
		return tooLongError(p.most)
	}
	switch v := val.(type) {
	case map[string]any:
		for name, field := range v {
			p.left -= len(name)
			if err := p.measure(field, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := p.measure(item, depth+1); err != nil {
				return err
			}
		}
	case string:
		p.left -= len(v)
	}
	return nil
}

func (p *plainer) celValue(val ref.Val, depth int) (any, error) {
	switch v := val.(type) {
	case types.String:
		p.left -= len(v)
	case *types.Optional:
		if v.HasValue() {
			return p.celValue(v.GetValue(), depth)
		}
	case *jsonList:
		return p.value(v.items, depth)
	case *jsonMap:
		return p.value(v.fields, depth)
	case traits.Mapper:
		return p.fields(v, depth)
	case traits.Lister:
		return p.items(v, depth)
	}
	return ToJSON(val)
}

func (p *plainer) fields(m traits.Mapper, depth int) (any, error) {
	out := map[string]any{}
	err := eachField(m, func(name string, val any) error {
		p.left -= len(name)
		plain, err := p.value(val, depth+1)
		if err != nil {
			return err
		}
		out[name] = plain
		return nil
	})
	return out, err
}

func (p *plainer) items(l traits.Lister, depth int) (any, error) {
	out := []any{}
	for it := l.Iterator(); it.HasNext() == types.True; {
		plain, err := p.value(it.Next(), depth+1)
		if errors.Is(err, ErrNoValue) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, plain)
	}
	return out, nil
}

// textUnits is what it costs to read texts once.
func textUnits(args ...ref.Val) uint64 {
	units := uint64(0)
	for _, arg := range args {
		switch v := arg.(type) {
		case types.String:
			units += uint64(len(v)) / bytesPerUnit
		case types.Bytes:
			units += uint64(len(v)) / bytesPerUnit
		}
	}
	return units
}
