package celenv

import (
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// Adapter converts Go values to CEL values. It wraps maps and lists of JSON without copying them.
type Adapter struct{}

// NativeToValue implements types.Adapter.
func (a Adapter) NativeToValue(value any) ref.Val {
	switch v := value.(type) {
	case ref.Val:
		return v
	case string:
		return types.String(v)
	case bool:
		return types.Bool(v)
	case int64:
		return types.Int(v)
	case float64:
		return types.Double(v)
	case nil:
		return types.NullValue
	case map[string]any:
		return &jsonMap{fields: v}
	case []any:
		return &jsonList{items: v}
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}

// jsonMap is a map of JSON that is iterated in the order of its keys.
type jsonMap struct {
	fields map[string]any
	// encoded knows where base64 in it encodes bytes; nil: nowhere.
	encoded *encoded
}

// plain returns the same map as a type of cel-go.
func (m *jsonMap) plain() traits.Mapper {
	if m.encoded == nil {
		return types.NewStringInterfaceMap(Adapter{}, m.fields)
	}
	fields := make(map[ref.Val]ref.Val, len(m.fields))
	for name, val := range m.fields {
		fields[types.String(name)] = m.field(name, val)
	}
	return types.NewRefValMap(Adapter{}, fields)
}

// field converts the value of a field for an expression.
func (m *jsonMap) field(name string, val any) ref.Val {
	if m.encoded == nil {
		return Adapter{}.NativeToValue(val)
	}
	return m.encoded.field(name).value(val)
}

func (m *jsonMap) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	val, ok := m.fields[string(name)]
	if !ok {
		return nil, false
	}
	return m.field(string(name), val), true
}

func (m *jsonMap) Get(key ref.Val) ref.Val {
	val, ok := m.Find(key)
	if !ok {
		return types.NewErr("no such key: %v", key)
	}
	return val
}

func (m *jsonMap) Contains(key ref.Val) ref.Val {
	_, ok := m.Find(key)
	return types.Bool(ok)
}

func (m *jsonMap) keys() []string {
	keys := make([]string, 0, len(m.fields))
	for k := range m.fields {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Fold implements traits.Foldable, for the comprehensions of two variables.
func (m *jsonMap) Fold(f traits.Folder) {
	for _, k := range m.keys() {
		val := m.fields[k]
		if m.encoded != nil {
			val = m.field(k, val)
		}
		if !f.FoldEntry(k, val) {
			return
		}
	}
}

func (m *jsonMap) Iterator() traits.Iterator {
	return types.NewStringList(Adapter{}, m.keys()).Iterator()
}
func (m *jsonMap) Size() ref.Val     { return types.Int(len(m.fields)) }
func (m *jsonMap) IsZeroValue() bool { return len(m.fields) == 0 }
func (m *jsonMap) Type() ref.Type    { return types.MapType }
func (m *jsonMap) Value() any        { return m.fields }

func (m *jsonMap) Equal(other ref.Val) ref.Val { return m.plain().Equal(other) }

func (m *jsonMap) ConvertToNative(t reflect.Type) (any, error) { return m.plain().ConvertToNative(t) }

func (m *jsonMap) ConvertToType(t ref.Type) ref.Val {
	if t == types.MapType {
		return m
	}
	return m.plain().ConvertToType(t)
}

// jsonList is a list of JSON.
type jsonList struct {
	items []any
	// encoded knows where base64 in it encodes bytes; nil: nowhere.
	encoded *encoded
}

// plain returns the same list as a type of cel-go.
func (l *jsonList) plain() traits.Lister {
	if l.encoded == nil {
		return types.NewDynamicList(Adapter{}, l.items)
	}
	items := make([]ref.Val, len(l.items))
	for i := range items {
		items[i] = l.item(i)
	}
	return types.NewRefValList(Adapter{}, items)
}

// item converts an item for an expression.
func (l *jsonList) item(i int) ref.Val {
	if l.encoded == nil {
		return Adapter{}.NativeToValue(l.items[i])
	}
	return l.encoded.item().value(l.items[i])
}

func (l *jsonList) Get(index ref.Val) ref.Val {
	i, err := types.IndexOrError(index)
	if err != nil {
		return types.WrapErr(err)
	}
	if i < 0 || i >= len(l.items) {
		return types.NewErr("index %d is out of range: the list has %d items", i, len(l.items))
	}
	return l.item(i)
}

func (l *jsonList) Contains(elem ref.Val) ref.Val {
	for i := range l.items {
		if types.Equal(l.item(i), elem) == types.True {
			return types.True
		}
	}
	return types.False
}

// Fold implements traits.Foldable, for the comprehensions of two variables.
func (l *jsonList) Fold(f traits.Folder) {
	for i, item := range l.items {
		if l.encoded != nil {
			item = l.item(i)
		}
		if !f.FoldEntry(i, item) {
			return
		}
	}
}

func (l *jsonList) Iterator() traits.Iterator { return &listIterator{list: l} }
func (l *jsonList) Size() ref.Val             { return types.Int(len(l.items)) }
func (l *jsonList) IsZeroValue() bool         { return len(l.items) == 0 }
func (l *jsonList) Type() ref.Type            { return types.ListType }
func (l *jsonList) Value() any                { return l.items }

func (l *jsonList) Add(other ref.Val) ref.Val   { return l.plain().Add(other) }
func (l *jsonList) Equal(other ref.Val) ref.Val { return l.plain().Equal(other) }

func (l *jsonList) ConvertToNative(t reflect.Type) (any, error) { return l.plain().ConvertToNative(t) }

func (l *jsonList) ConvertToType(t ref.Type) ref.Val {
	if t == types.ListType {
		return l
	}
	return l.plain().ConvertToType(t)
}

// listIterator iterates over a list of JSON. No expression can have it as a value, so null implements ref.Val for it.
type listIterator struct {
	types.Null
	list *jsonList
	next int
}

func (it *listIterator) HasNext() ref.Val { return types.Bool(it.next < len(it.list.items)) }

func (it *listIterator) Next() ref.Val {
	it.next++
	return it.list.item(it.next - 1)
}
