package celenv

import (
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/readiness"
)

// StatusKindsName is the name by which kstatus and ready resolve the StatusKinds from the activation. No expression can
// contain it.
const StatusKindsName = "@kanon_status_kinds"

// StatusKinds has the kinds whose controllers write a status. An object of such a kind without a status is in progress.
type StatusKinds map[schema.GroupVersionKind]bool

// statusUnits is about the cost of reading the conditions of an object.
const statusUnits = 50

func statusFunctions() []*Function {
	object := cel.MapType(cel.StringType, cel.DynType)
	family := func(name string, result *cel.Type, convert func(status.Status) ref.Val) *Function {
		compute := func(val ref.Val, kinds StatusKinds) ref.Val {
			s, problem := objectStatus(name, val, kinds)
			if problem != nil {
				return problem
			}
			return convert(s)
		}
		return &Function{
			name: name, declared: Declaration{cost: costReads},
			call: func(args []ref.Val) ref.Val { return compute(args[0], nil) },
			within: func(frame *interpreter.ExecutionFrame, args []ref.Val) ref.Val {
				val, _ := frame.ResolveName(StatusKindsName)
				kinds, _ := val.(StatusKinds)
				return compute(args[0], kinds)
			},
			signatures: []signature{
				{id: "kanon_" + name + "_map", args: []*cel.Type{object}, result: result},
				{id: "kanon_" + name + "_null", args: []*cel.Type{cel.NullType}, result: result},
			},
			cost: func([]ref.Val, ref.Val) uint64 { return statusUnits },
		}
	}
	return []*Function{
		family("kstatus", cel.StringType, func(s status.Status) ref.Val { return types.String(s) }),
		family("ready", cel.BoolType, func(s status.Status) ref.Val { return types.Bool(s == status.CurrentStatus) }),
	}
}

// objectStatus returns the kstatus of an object, as dependsOn uses it: NotFound for null. problem is an error value for
// an object that cannot be read.
func objectStatus(name string, val ref.Val, kinds StatusKinds) (s status.Status, problem ref.Val) {
	if val == types.NullValue {
		return status.NotFoundStatus, nil
	}
	m, ok := val.(traits.Mapper)
	if !ok {
		return "", typeError(name, 1, "an object", val)
	}
	plain, _ := JSON(m)
	if plain == nil {
		var err error
		if plain, err = Plain(val, maxYAML); err != nil {
			return "", types.NewErr("%s: %v", name, err)
		}
	}
	fields, _ := plain.(map[string]any)
	object := &unstructured.Unstructured{Object: fields}
	result, err := readiness.Of(object, kinds[object.GroupVersionKind()])
	if err != nil {
		return "", types.NewErr("%s: %v", name, err)
	}
	return result.Status, nil
}
