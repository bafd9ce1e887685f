package celenv

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/readiness"
)

// maxMerged is how many entries one call of merge or deepMerge may read: far more than objects have, and about a tenth
// of a second.
const maxMerged = 50_000

var errTooManyEntries = fmt.Errorf("more than %d entries", maxMerged)

// merger merges maps within a bound.
type merger struct {
	deep    bool
	entries int
}

func mergeAll(name string, deep bool) func(args []ref.Val) ref.Val {
	return func(args []ref.Val) ref.Val {
		m, out := &merger{deep: deep}, map[string]any{}
		for _, arg := range args {
			from, _ := present(arg).(traits.Mapper)
			if err := m.into(out, from); err != nil {
				return types.NewErr("%s: %v", name, err)
			}
		}
		return Made(out)
	}
}

// mergeCost counts the entries that a call reads.
func mergeCost(deep bool) func(args []ref.Val, _ ref.Val) uint64 {
	return func(args []ref.Val, _ ref.Val) uint64 {
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
	}
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

// StatusKindsName is the name by which kstatus and ready resolve the StatusKinds from the activation. No expression can
// contain it.
const StatusKindsName = "@kanon_status_kinds"

// StatusKinds has the kinds whose controllers write a status. An object of such a kind without a status is in progress.
type StatusKinds map[schema.GroupVersionKind]bool

// statusUnits is about the cost of reading the conditions of an object.
const statusUnits = 50

// statusOf returns a function of the kstatus of an object, as dependsOn uses it: NotFound for null.
func statusOf(name string, convert func(status.Status) ref.Val) func(*interpreter.ExecutionFrame, []ref.Val) ref.Val {
	return func(frame *interpreter.ExecutionFrame, args []ref.Val) ref.Val {
		m, ok := present(args[0]).(traits.Mapper)
		if !ok {
			return convert(status.NotFoundStatus)
		}
		plain, _ := JSON(m)
		if plain == nil {
			var err error
			if plain, err = Plain(m, maxText); err != nil {
				return types.NewErr("%s: %v", name, err)
			}
		}
		fields, _ := plain.(map[string]any)
		object := &unstructured.Unstructured{Object: fields}
		resolved, _ := frame.ResolveName(StatusKindsName)
		kinds, _ := resolved.(StatusKinds)
		result, err := readiness.Of(object, kinds[object.GroupVersionKind()])
		if err != nil {
			return types.NewErr("%s: %v", name, err)
		}
		return convert(result.Status)
	}
}
