package value

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// keyTypeError is the error for a key of a map that is not text.
type keyTypeError struct{ key ref.Val }

// AsMap returns a value, of JSON or of CEL, as a map.
func AsMap(val any) (traits.Mapper, bool) {
	m, ok := Adapter{}.NativeToValue(val).(traits.Mapper)
	return m, ok
}

// EachField calls do for the entries of a map. It skips entries that are optional.none().
func EachField(m traits.Mapper, do func(name string, val any) error) error {
	fields, ok := plainFields(m)
	if ok {
		for name, val := range fields {
			if err := do(name, val); err != nil {
				return err
			}
		}
		return nil
	}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return keyTypeError{key}
		}
		val, _ := m.Find(key)
		if opt, isOptional := val.(*types.Optional); isOptional {
			if !opt.HasValue() {
				continue
			}
			val = opt.GetValue()
		}
		if err := do(string(name), val); err != nil {
			return err
		}
	}
	return nil
}

// plainFields returns the fields of a map whose values need no conversion.
func plainFields(m traits.Mapper) (map[string]any, bool) {
	switch m := m.(type) {
	case *jsonMap:
		return m.fields, m.encoded == nil
	case *madeMap:
		return m.fields, true
	}
	return nil, false
}
