package celenv

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// maxMerged is how many entries one call of merge or deepMerge may look at: far
// more than objects have, and about a tenth of a second.
const maxMerged = 50_000

var errTooManyEntries = fmt.Errorf("more than %d entries", maxMerged)

func mergeFunctions() []*function {
	fields := cel.MapType(cel.StringType, cel.DynType)
	return []*function{
		{
			name: "merge", class: costChecked, bytes: merged(), signatures: anyNumber("merge", 2, fields, fields),
			call: func(args []ref.Val) ref.Val { return mergeAll("merge", false, args) },
		},
		{
			name: "deepMerge", class: costChecked, bytes: merged(), signatures: anyNumber("deepMerge", 2, fields, fields),
			call: func(args []ref.Val) ref.Val { return mergeAll("deepMerge", true, args) },
		},
	}
}

// madeMap is a map that merge made. Its values are those of the arguments,
// JSON or CEL's own, which are shared and only read. It is a jsonMap in all but
// what ToJSON may take for granted.
type madeMap struct {
	jsonMap
	// entries is how many entries were looked at to make it, for the meter.
	entries uint64
}

// Entries is how many entries of other maps it took to make the map.
func (m *madeMap) Entries() uint64 { return m.entries }

// merger merges maps within a bound.
type merger struct {
	deep    bool
	entries uint64
}

func mergeAll(name string, deep bool, args []ref.Val) ref.Val {
	m := &merger{deep: deep}
	out := map[string]any{}
	for i, arg := range args {
		if opt, ok := arg.(*types.Optional); ok && opt.HasValue() {
			arg = opt.GetValue()
		}
		from, ok := arg.(traits.Mapper)
		if !ok {
			return wrongType(name, i+1, "a map", arg)
		}
		if err := m.into(out, from); err != nil {
			return types.NewErr("%s: %v", name, err)
		}
	}
	return MadeFrom(out, m.entries)
}

// into puts the entries of a map into out, which nobody else holds.
func (m *merger) into(out map[string]any, from traits.Mapper) error {
	return eachField(from, func(name string, val any) error {
		if m.entries++; m.entries > maxMerged {
			return errTooManyEntries
		}
		old, has := out[name]
		if !m.deep || !has {
			out[name] = val
			return nil
		}
		below, isMap := asMap(val)
		above, wasMap := asMap(old)
		if !isMap || !wasMap {
			out[name] = val
			return nil
		}
		merged := map[string]any{}
		if err := m.into(merged, above); err != nil {
			return err
		}
		if err := m.into(merged, below); err != nil {
			return err
		}
		out[name] = Made(merged)
		return nil
	})
}

// asMap is a value, JSON or CEL's own, as a map.
func asMap(val any) (traits.Mapper, bool) {
	m, ok := adapter{}.NativeToValue(val).(traits.Mapper)
	return m, ok
}

// eachField goes over the entries of a map. An entry that is optional.none()
// is none.
func eachField(m traits.Mapper, do func(name string, val any) error) error {
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

// plainFields are the fields of a map that has them as they are.
func plainFields(m traits.Mapper) (map[string]any, bool) {
	switch m := m.(type) {
	case *jsonMap:
		return m.fields, m.encoded == nil
	case *madeMap:
		return m.fields, true
	}
	return nil, false
}
