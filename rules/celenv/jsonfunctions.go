package celenv

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func jsonFunctions() []*Function {
	return []*Function{
		{
			name:       "toJson",
			signatures: []signature{{id: "kanon_toJson", args: []*cel.Type{cel.DynType}, result: cel.StringType}},
			declared:   Declaration{cost: costReads, result: large},
			call:       toJSONText,
		},
		{
			name:       "fromJson",
			signatures: []signature{{id: "kanon_fromJson", args: []*cel.Type{cel.StringType}, result: cel.DynType}},
			declared:   Declaration{cost: costReads, result: large, longest: maxText, limits: limitJSON},
			call:       fromJSONText,
			cost:       func(args []ref.Val, _ ref.Val) uint64 { return textUnits(args...) },
		},
	}
}

func toJSONText(args []ref.Val) ref.Val {
	text, err := encodeJSON(args[0], maxText)
	if err != nil {
		return types.NewErr("toJson: %v", err)
	}
	return types.String(text)
}

// encodeJSON writes a value as JSON of at most so many bytes, with sorted keys and without blanks.
func encodeJSON(val ref.Val, most int) (string, error) {
	plain, err := Plain(val, most)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(plain); err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	if b.Len() > most {
		return "", TooLongError(most)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

func fromJSONText(args []ref.Val) ref.Val {
	text, ok := args[0].(types.String)
	if !ok {
		return typeError("fromJson", 1, "a string", args[0])
	}
	var parsed any
	if err := utiljson.Unmarshal([]byte(text), &parsed); err != nil {
		return types.NewErr("fromJson: %v", err)
	}
	return FromJSON(parsed)
}
