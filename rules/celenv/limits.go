package celenv

import (
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/resource"
)

// maxText is the longest string, in bytes, that a call may return: as much as etcd takes for a whole object.
const maxText = 1536 << 10

// A call of a library function cannot be interrupted, so a call that would take more than some tens of milliseconds is
// refused.
const (
	// maxNumber is the longest text that is parsed as a number, a time or an address.
	maxNumber = 1 << 10
	// maxParsed is the maximum size of a value that is parsed from text, in bytes.
	maxParsed = 16 << 20
	// maxPairs is how many values one call may compare with one another.
	maxPairs = 1_000_000
	// maxScalars is how many texts or ints a list may have to be handled as a hash set.
	maxScalars = 20_000
	// maxSorted is how many items one call may sort.
	maxSorted = 50_000
	// maxMade is how many items a list may have that + or a function returns.
	maxMade = 100_000
	// maxProduct bounds the product of the sizes of two arguments; see within.
	maxProduct = 20_000_000
	// maxClauses is how many clauses format takes. Each can write some hundred digits.
	maxClauses = 10_000
	// maxMatch bounds a match of a regular expression: the product of its instructions and the bytes of the text.
	// maxPattern is how long an expression may be.
	maxMatch   = 4_000_000
	maxPattern = 10_000
	// maxNamed is how long a text may be that a named format validates.
	maxNamed = 64 << 10
)

// within refuses a call if the arguments have more than maxText values and bytes of text together, all levels counted,
// or if the product of the two largest is more than maxProduct: a search compares texts at every position, and join and
// replace repeat one text as often as another has parts.
func within(args ...ref.Val) ref.Val {
	left, first, second := maxText, 1, 1
	for _, arg := range args {
		before := left
		if !measure(arg, &left) {
			return types.NewErr("the arguments have more than %d bytes", maxText)
		}
		size := before - left
		first, second = max(first, size), max(second, min(first, size))
	}
	if first > maxProduct/second {
		return types.NewErr("arguments of %d and %d bytes are too large for one call", first, second)
	}
	return nil
}

// limitPairs returns an error if comparing all items of the first list with all items of the last reads too many values.
func limitPairs(args ...ref.Val) ref.Val {
	left := int(maxPairs / max(ListLength(args[0]), 1))
	if !CountParts(args[len(args)-1], &left) {
		return types.NewErr("this would compare more than %d pairs of values", maxPairs)
	}
	return nil
}

func limitSorted(args ...ref.Val) ref.Val {
	if n := ListLength(args[0]); n > maxSorted {
		return types.NewErr("a list of %d items cannot be sorted: %d are the most", n, maxSorted)
	}
	return nil
}

func limitFlatten(args ...ref.Val) ref.Val {
	if left := maxMade; !CountParts(args[0], &left) {
		return types.NewErr("flatten takes lists of at most %d values in all", maxMade)
	}
	return nil
}

// mapBytes is about the size of a map that is parsed from text, without its entries.
const mapBytes = 300

// limitJSON returns an error if the values in a JSON text could take too much memory.
func limitJSON(args ...ref.Val) ref.Val {
	if text, _ := args[0].(types.String); jsonBytes(string(text)) > maxParsed {
		return types.NewErr("fromJson could give more than %d bytes", maxParsed)
	}
	return nil
}

// jsonBytes returns the maximum size of the values in a JSON text.
func jsonBytes(text string) int64 {
	total, quoted := int64(len(text)), false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			total += mapBytes + ValueBytes + ItemBytes
		case c == '[' || c == ',' || c == ':':
			total += ValueBytes + ItemBytes
		}
	}
	return total
}

// limitYAML returns an error if a YAML text has so many values that its nodes alone would take too much memory.
func limitYAML(args ...ref.Val) ref.Val {
	text, _ := args[0].(types.String)
	const node = 256
	n := 0
	for i := range len(text) {
		switch text[i] {
		case '\n', ',', ':', '[', '{', '-', '?':
			n++
		}
	}
	if n > maxParsed/node {
		return types.NewErr("fromYaml: more than %d values", maxParsed/node)
	}
	return nil
}

// limitExponent returns an error if a quantity has a huge exponent: Kubernetes' parser would write out all of its
// digits.
func limitExponent(args ...ref.Val) ref.Val {
	const most = 3
	text, _ := args[0].(types.String)
	if exponentDigits(string(text)) > most {
		return types.NewErr("the exponent of a quantity can have at most %d digits", most)
	}
	return nil
}

func exponentDigits(text string) int {
	i := strings.LastIndexAny(text, "eE")
	if i < 0 {
		return 0
	}
	return len(strings.TrimLeft(text[i+1:], "+-0"))
}

// IsQuantity reports whether a text is a quantity, as quantity(text) takes it.
func IsQuantity(text string) bool {
	if len(text) > maxNumber || limitExponent(types.String(text)) != nil {
		return false
	}
	_, err := resource.ParseQuantity(text)
	return err == nil
}

// limitSum returns an error if a + b would be too long. The list of a loop grows in place and is not checked here.
func limitSum(args ...ref.Val) ref.Val {
	a, b := args[0], args[1]
	if n := TextLength(a) + TextLength(b); n > maxText {
		return types.NewErr("+ would give more than %d bytes", maxText)
	}
	if _, gathers := a.(traits.MutableLister); gathers {
		return nil
	}
	if ListLength(a)+ListLength(b) > maxMade {
		return types.NewErr("+ would give a list of more than %d items", maxMade)
	}
	return nil
}

// limitSplit returns an error if split(text, separator) would return too many items.
func limitSplit(args ...ref.Val) ref.Val {
	text, _ := args[0].(types.String)
	separator, _ := args[1].(types.String)
	n := int64(strings.Count(string(text), string(separator)) + 1)
	if len(args) > 2 {
		if most, ok := args[2].(types.Int); ok && most >= 0 {
			n = min(n, int64(most))
		}
	}
	if n > maxMade {
		return types.NewErr("split would give a list of more than %d items", maxMade)
	}
	return nil
}

// limitFormat returns an error if the result of format could be too long, or format would visit too many values.
func limitFormat(args ...ref.Val) ref.Val {
	text, _ := args[0].(types.String)
	if left := maxText; !measure(args[1], &left) {
		return types.NewErr("format: %v", TooLongError(maxText))
	}
	if n := strings.Count(string(text), "%"); n > maxClauses {
		return types.NewErr("format: more than %d clauses", maxClauses)
	}
	return nil
}
