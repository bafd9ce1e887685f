package function

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"kanon.dev/kanon/rules/celenv/value"
)

// maxMerged is how many entries one call of merge or deepMerge may read: far more than objects have, and about a tenth
// of a second.
const maxMerged = 50_000

var errTooManyEntries = fmt.Errorf("more than %d entries", maxMerged)

func mergeFunctions() []*Function {
	fields := cel.MapType(cel.StringType, cel.DynType)
	return []*Function{
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
			return typeError(name, i+1, "a map", arg)
		}
		if err := m.into(out, from); err != nil {
			return types.NewErr("%s: %v", name, err)
		}
	}
	return value.MadeFrom(out, m.entries)
}

// into adds the entries of a map to out, which must not be shared.
func (m *merger) into(out map[string]any, from traits.Mapper) error {
	return value.EachField(from, func(name string, val any) error {
		if m.entries++; m.entries > maxMerged {
			return errTooManyEntries
		}
		old, has := out[name]
		if !m.deep || !has {
			out[name] = val
			return nil
		}
		below, isMap := value.AsMap(val)
		above, wasMap := value.AsMap(old)
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
		out[name] = value.Made(merged)
		return nil
	})
}
