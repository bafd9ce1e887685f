package celenv

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// maxMerged is how many entries one call of merge or deepMerge may read: far more than objects have, and about a tenth
// of a second.
const maxMerged = 50_000

var errTooManyEntries = fmt.Errorf("more than %d entries", maxMerged)

func mergeFunctions() []*Function {
	fields := cel.MapType(cel.StringType, cel.DynType)
	family := func(name string, deep bool) *Function {
		return &Function{
			name: name, declared: Declaration{cost: costReads, result: large}, signatures: anyNumber(name, 2, fields, fields),
			call: func(args []ref.Val) ref.Val { return mergeAll(name, deep, args) },
			cost: func(args []ref.Val, _ ref.Val) uint64 {
				left := maxMerged
				for _, arg := range args {
					if deep {
						CountParts(arg, &left)
					} else if m, ok := arg.(traits.Mapper); ok {
						size, _ := m.Size().(types.Int)
						left -= int(size)
					}
				}
				return uint64(maxMerged - max(left, 0)) //nolint:gosec // It is not negative.
			},
		}
	}
	return []*Function{family("merge", false), family("deepMerge", true)}
}

// merger merges maps within a bound.
type merger struct {
	deep    bool
	entries int
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
	return Made(out)
}

// into adds the entries of a map to out, which must not be shared.
func (m *merger) into(out map[string]any, from traits.Mapper) error {
	return EachField(from, func(name string, val any) error {
		if m.entries++; m.entries > maxMerged {
			return errTooManyEntries
		}
		old, has := out[name]
		if !m.deep || !has {
			out[name] = val
			return nil
		}
		below, isMap := AsMap(val)
		above, wasMap := AsMap(old)
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
