package function

import (
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/rules/celenv/value"
)

func timeFunctions() []*Function {
	return []*Function{{
		name: "truncate", class: costConstant, bytes: small(),
		signatures: []signature{{
			id: "kanon_truncate", args: []*cel.Type{cel.TimestampType, cel.DurationType}, result: cel.TimestampType,
		}},
		call: truncate, times: []int{0},
		change: func(args []ref.Val, _ []int) (Wait, bool) {
			from, ok := truncate(args).(types.Timestamp)
			if !ok {
				return 0, false
			}
			t, _ := args[0].(types.Timestamp)
			d, _ := args[1].(types.Duration)
			return Wait(from.Time.Add(d.Duration).Sub(t.Time)), true
		},
	}}
}

// truncate rounds a time down to a multiple of a duration since 0001-01-01T00:00:00Z, which was a Monday, as
// time.Time.Truncate does.
func truncate(args []ref.Val) ref.Val {
	t, ok := args[0].(types.Timestamp)
	if !ok {
		return typeError("truncate", 1, "a timestamp", args[0])
	}
	d, ok := args[1].(types.Duration)
	if !ok {
		return typeError("truncate", 2, "a duration", args[1])
	}
	if d.Duration < time.Second {
		return types.NewErr("truncate: the duration must be a second or more, and is %s", value.DurationText(d))
	}
	return types.Timestamp{Time: t.UTC().Truncate(d.Duration)}
}
