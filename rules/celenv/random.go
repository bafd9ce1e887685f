package celenv

import (
	"fmt"
	"io"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

const (
	// RandomName is the name of the function that returns random text.
	RandomName = "random"
	// RandomSource is the name by which random resolves the *Random from the activation. No expression can contain it.
	RandomSource = "@kanon_random"
	// maxRandom is the longest text that random returns.
	maxRandom = 1024
	// randomLetters are the letters of the text: 62, so that a letter has 5.95 bits.
	randomLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

// Random is the source of random text for one evaluation.
type Random struct {
	// Source has the random bytes. If it is nil, the text is a placeholder of asterisks.
	Source io.Reader
}

func randomFunctions() []*Function {
	return []*Function{{
		name:       RandomName,
		declared:   Declaration{cost: costReads, result: large},
		signatures: []signature{{id: "kanon_random", args: []*cel.Type{cel.IntType}, result: cel.StringType}},
		call:       func([]ref.Val) ref.Val { return types.NewErr("random: there is no source here") },
		within:     random,
		cost: func(args []ref.Val, _ ref.Val) uint64 {
			n, _ := args[0].(types.Int)
			return uint64(max(0, min(n, maxRandom)))
		},
	}}
}

// random implements random(n).
func random(frame *interpreter.ExecutionFrame, args []ref.Val) ref.Val {
	n, ok := args[0].(types.Int)
	if !ok {
		return typeError(RandomName, 1, "an int", args[0])
	}
	if n < 1 || n > maxRandom {
		return types.NewErr("random: the length must be 1 to %d, and is %d", maxRandom, n)
	}
	val, _ := frame.ResolveName(RandomSource)
	r, ok := val.(*Random)
	if !ok {
		return types.NewErr("random: there is no source here")
	}
	text, err := r.text(int(n))
	if err != nil {
		return types.NewErr("random: %v", err)
	}
	return types.String(text)
}

// text returns n letters, each with the same probability.
func (r *Random) text(n int) (string, error) {
	if r.Source == nil {
		return strings.Repeat("*", n), nil
	}
	// Bytes above the last whole multiple would make some letters more probable.
	const usable = 256 - 256%len(randomLetters)
	out := make([]byte, 0, n)
	buffer := make([]byte, n)
	for len(out) < n {
		if _, err := io.ReadFull(r.Source, buffer); err != nil {
			return "", fmt.Errorf("read random bytes: %w", err)
		}
		for _, b := range buffer {
			if int(b) < usable && len(out) < n {
				out = append(out, randomLetters[int(b)%len(randomLetters)])
			}
		}
	}
	return string(out), nil
}
