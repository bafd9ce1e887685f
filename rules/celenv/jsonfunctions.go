package celenv

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func jsonFunctions() []*Function {
	return []*Function{
		{
			name:       "toJson",
			signatures: []signature{{id: "kanon_toJson", args: []*cel.Type{cel.DynType}, result: cel.StringType}},
			declared:   Declaration{cost: costReads, result: large},
			call:       toJSONText,
		},
		{
			name:       "fromJson",
			signatures: []signature{{id: "kanon_fromJson", args: []*cel.Type{cel.StringType}, result: cel.DynType}},
			declared:   Declaration{cost: costReads, result: large, longest: maxText, limits: limitJSON},
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

// encodeJSON writes a value as JSON of at most so many bytes, with sorted keys and without blanks.
func encodeJSON(val ref.Val, most int) (string, error) {
	w := jsonWriter{most: most}
	w.encoder = json.NewEncoder(&w.text)
	w.encoder.SetEscapeHTML(false)
	if err := w.value(val); err != nil {
		return "", err
	}
	return w.text.String(), nil
}

// jsonWriter writes a value as JSON without a copy of it. A value may contain another one many times, so a copy can be
// much larger than the value.
type jsonWriter struct {
	text    bytes.Buffer
	encoder *json.Encoder
	most    int
}

func (w *jsonWriter) value(val ref.Val) error {
	switch v := val.(type) {
	case *types.Optional:
		if !v.HasValue() {
			return ErrNoValue
		}
		return w.value(v.GetValue())
	case *jsonMap:
		return w.plain(v.fields)
	case *jsonList:
		return w.plain(v.items)
	case traits.Mapper:
		return w.fields(v)
	case traits.Lister:
		return w.items(v)
	}
	r := renderer{left: 1, whole: true}
	plain, err := r.value(val, nil)
	if err != nil {
		return err
	}
	return w.plain(plain)
}

func (w *jsonWriter) plain(val any) error {
	if err := w.encoder.Encode(val); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	w.text.Truncate(w.text.Len() - 1) // the end of the line
	return w.check()
}

func (w *jsonWriter) check() error {
	if w.text.Len() > w.most {
		return TooLongError(w.most)
	}
	return nil
}

func (w *jsonWriter) fields(m traits.Mapper) error {
	fields := make(map[string]ref.Val)
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, err := ToText(key)
		if err != nil {
			return fmt.Errorf("key of a map: %w", err)
		}
		fields[name], _ = m.Find(key)
	}
	w.text.WriteByte('{')
	first := true
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		before := w.text.Len()
		if !first {
			w.text.WriteByte(',')
		}
		if err := w.plain(name); err != nil {
			return err
		}
		w.text.WriteByte(':')
		switch err := w.value(fields[name]); {
		case errors.Is(err, ErrNoValue):
			w.text.Truncate(before)
			continue
		case errors.As(err, new(TooLongError)):
			return err
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
		first = false
	}
	w.text.WriteByte('}')
	return w.check()
}

func (w *jsonWriter) items(l traits.Lister) error {
	w.text.WriteByte('[')
	first, index := true, 0
	for it := l.Iterator(); it.HasNext() == types.True; index++ {
		before := w.text.Len()
		if !first {
			w.text.WriteByte(',')
		}
		switch err := w.value(it.Next()); {
		case errors.Is(err, ErrNoValue):
			w.text.Truncate(before)
			continue
		case errors.As(err, new(TooLongError)):
			return err
		case err != nil:
			return fmt.Errorf("item %d: %w", index, err)
		}
		first = false
	}
	w.text.WriteByte(']')
	return w.check()
}

func fromJSONText(args []ref.Val) ref.Val {
	text, ok := args[0].(types.String)
	if !ok {
		return typeError("fromJson", 1, "a string", args[0])
	}
	var parsed any
	if err := utiljson.Unmarshal([]byte(text), &parsed); err != nil {
		return types.NewErr("fromJson: %v", err)
	}
	return FromJSON(parsed)
}
