package function

import (
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/rules/celenv/value"
)

// unfit is what text is of which a function makes nothing; empty for functions that are no conversions of text.
func unfit(name string) string {
	switch name {
	case "int":
		return "no integer"
	case "uint":
		return "no integer that is 0 or more"
	case "double":
		return "no number"
	case "bool":
		return "neither true nor false"
	case "timestamp":
		return value.NoTime
	case "duration":
		return value.NoDuration
	case "quantity":
		return "no quantity, such as 500m or 2Gi"
	case "ip":
		return "no IP address"
	case "cidr":
		return "no range of addresses, such as 10.0.0.0/8"
	case "url":
		return "no absolute URL or path"
	case "semver":
		return "no version, such as 1.2.3"
	}
	return ""
}

// namingUnfitText has the errors of a conversion of text name the text.
func namingUnfitText(name string, b *functions.Overload) *functions.Overload {
	found := unfit(name)
	if found == "" {
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
