package function

import (
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/rules/celenv/value"
)

// unfit says, for each conversion, what a text is that it cannot convert.
func unfit() map[string]string {
	return map[string]string{
		"int":       "no integer",
		"uint":      "no integer that is 0 or more",
		"double":    "no number",
		"bool":      "neither true nor false",
		"timestamp": value.NoTime,
		"duration":  value.NoDuration,
		"quantity":  "no quantity, such as 500m or 2Gi",
		"ip":        "no IP address",
		"cidr":      "no range of addresses, such as 10.0.0.0/8",
		"url":       "no absolute URL or path",
		"semver":    "no version, such as 1.2.3",
	}
}

// namingUnfitText makes the errors of a conversion name the text that it cannot convert.
func namingUnfitText(name string, b *functions.Overload) *functions.Overload {
	found, converts := unfit()[name]
	if !converts {
		return b
	}
	naming := *b
	named := func(given, out ref.Val) ref.Val {
		if text, ok := given.(types.String); ok && types.IsError(out) {
			return types.WrapErr(&value.UnfitError{Text: string(text), Found: found})
		}
		return out
	}
	if op := b.Unary; op != nil {
		naming.Unary = func(val ref.Val) ref.Val { return named(val, op(val)) }
	}
	if op := b.Function; op != nil {
		naming.Function = func(args ...ref.Val) ref.Val { return named(args[0], op(args...)) }
	}
	return &naming
}
