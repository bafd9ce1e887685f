package celenv

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	sigsyaml "sigs.k8s.io/yaml"

	"kanon.dev/kanon/rules/yamltree"
)

const (
	// maxYAML is the longest YAML, in bytes, that is read or written. Both take about a microsecond per byte, and cannot
	// be interrupted.
	maxYAML = 256 << 10
	// yamlFactor is how much slower YAML is than JSON.
	yamlFactor = 10
)

func yamlFunctions() []*Function {
	return []*Function{
		{
			name:       "toYaml",
			signatures: []signature{{id: "kanon_toYaml", args: []*cel.Type{cel.DynType}, result: cel.StringType}},
			declared:   Declaration{cost: costReads, result: large},
			call:       toYAMLText,
			cost:       func(_ []ref.Val, result ref.Val) uint64 { return yamlFactor * textUnits(result) },
		},
		{
			name:       "fromYaml",
			signatures: []signature{{id: "kanon_fromYaml", args: []*cel.Type{cel.StringType}, result: cel.DynType}},
			declared:   Declaration{cost: costReads, result: large, longest: maxYAML, limits: limitYAML},
			call:       fromYAMLText,
			cost:       func(args []ref.Val, _ ref.Val) uint64 { return yamlFactor * textUnits(args...) },
		},
	}
}

func toYAMLText(args []ref.Val) ref.Val {
	text, err := encodeJSON(args[0], maxYAML)
	if err != nil {
		return types.NewErr("toYaml: %v", err)
	}
	out, err := sigsyaml.JSONToYAML([]byte(text))
	if err != nil {
		return types.NewErr("toYaml: %v", err)
	}
	if len(out) > maxYAML {
		return types.NewErr("toYaml: %v", TooLongError(maxYAML))
	}
	return types.String(out)
}

func fromYAMLText(args []ref.Val) ref.Val {
	text, ok := args[0].(types.String)
	if !ok {
		return typeError("fromYaml", 1, "a string", args[0])
	}
	val, err := yamltree.Decode(string(text))
	if err != nil {
		return types.NewErr("fromYaml: %v", err)
	}
	return FromJSON(val)
}
