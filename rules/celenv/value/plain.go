package value

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// ErrTooDeep is the error for a value that is nested deeper than MaxDepth.
var ErrTooDeep = fmt.Errorf("nested more than %d deep", MaxDepth)

// TooLongError is the error for a text of more than so many bytes.
type TooLongError int

func (e TooLongError) Error() string { return fmt.Sprintf("more than %d bytes", int(e)) }

func (e keyTypeError) Error() string {
	return "the keys must be strings, and one is " + TypeText(e.key)
}

// MaxDepth is how deep values may be nested that are parsed from text or written as text. The API server refuses
// objects that are nested deeper.
const MaxDepth = 1000

// plainWriter implements Plain.
type plainWriter struct {
	// left is how many bytes the text may still have. What was counted so far is a lower bound of its length.
	left, most int
}

// Plain converts a value to JSON for a text of at most so many bytes. Unlike ToJSON, it keeps null, since the author
// wrote it. It returns a TooLongError for a value that is too long: a value can contain another one many times.
func Plain(val ref.Val, most int) (any, error) {
	p := &plainWriter{left: most, most: most}
	return p.value(val, 0)
}

func (p *plainWriter) value(val any, depth int) (any, error) {
	if v, ok := val.(ref.Val); ok {
		if depth > MaxDepth {
			return nil, ErrTooDeep
		}
		if p.left--; p.left < 0 {
			return nil, TooLongError(p.most)
		}
		return p.celValue(v, depth)
	}
	return val, p.measure(val, depth)
}

// measure subtracts the length of a value that is JSON already.
func (p *plainWriter) measure(val any, depth int) error {
	if depth > MaxDepth {
		return ErrTooDeep
	}
	if p.left--; p.left < 0 {
		return TooLongError(p.most)
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

func (p *plainWriter) celValue(val ref.Val, depth int) (any, error) {
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

func (p *plainWriter) fields(m traits.Mapper, depth int) (any, error) {
	out := map[string]any{}
	err := EachField(m, func(name string, val any) error {
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

func (p *plainWriter) items(l traits.Lister, depth int) (any, error) {
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
