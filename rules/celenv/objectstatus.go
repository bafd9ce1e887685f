package celenv

import (
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// statusUnits is about what it costs to look through the conditions of an
// object.
const statusUnits = 50

func statusFunctions() []*function {
	object := cel.MapType(cel.StringType, cel.DynType)
	family := func(name string, result *cel.Type, call func([]ref.Val) ref.Val) *function {
		return &function{
			name: name, call: call, class: costReads, bytes: little(),
			signatures: []signature{
				{id: "kanon_" + name + "_map", args: []*cel.Type{object}, result: result},
				{id: "kanon_" + name + "_null", args: []*cel.Type{cel.NullType}, result: result},
			},
			cost: func([]ref.Val, ref.Val) uint64 { return statusUnits },
		}
	}
	return []*function{
		family("kstatus", cel.StringType, func(args []ref.Val) ref.Val { return objectStatus("kstatus", args[0]) }),
		family("ready", cel.BoolType, func(args []ref.Val) ref.Val {
			val := objectStatus("ready", args[0])
			if types.IsError(val) {
				return val
			}
			return types.Bool(val == types.String(status.CurrentStatus))
		}),
	}
}

// objectStatus is what kstatus says of an object: NotFound of null.
func objectStatus(name string, val ref.Val) ref.Val {
	if val == types.NullValue {
		return types.String(status.NotFoundStatus)
	}
	m, ok := val.(traits.Mapper)
	if !ok {
		return wrongType(name, 1, "an object", val)
	}
	var fields map[string]any
	if plain, ok := m.(*jsonMap); ok {
		fields = plain.fields
	} else {
		p := &plainer{left: maxText, most: maxText}
		copied, err := p.value(val, 0)
		if err != nil {
			return types.NewErr("%s: %v", name, err)
		}
		fields, _ = copied.(map[string]any)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: fields})
	if err != nil {
		return types.NewErr("%s: %v", name, err)
	}
	return types.String(result.Status)
}
