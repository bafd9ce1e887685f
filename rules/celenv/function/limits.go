package function

import (
	"errors"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/resource"

	"kanon.dev/kanon/rules/celenv/value"
)

// maxText is the longest string, in bytes, that a call may return: as much as etcd takes for a whole object.
const maxText = 1536 << 10

// A call of a library function cannot be interrupted, so a call that would take more than some tens of milliseconds is
// refused.
const (
	// maxPairs is how many values one call may compare with one another.
	maxPairs = 1_000_000
	// maxScalars is how many texts or ints a list may have to be handled as a hash set.
	maxScalars = 20_000
	// maxSorted is how many items one call may sort.
	maxSorted = 50_000
	// maxMade is how many items a list may have that + or a function returns.
	maxMade = 100_000
	// maxSearch bounds a search for one text in another: the product of their lengths in bytes.
	maxSearch = 20_000_000
	// maxMatch bounds a match of a regular expression: the product of its instructions and the bytes of the text.
	// maxPattern is how long an expression may be.
	maxMatch   = 4_000_000
	maxPattern = 10_000
	// maxNamed is how long a text may be that a named format validates.
	maxNamed = 64 << 10
)

// binaryBound returns a check of the first two arguments, if there are two.
func binaryBound(check func(a, b ref.Val) ref.Val) func(args ...ref.Val) ref.Val {
	return func(args ...ref.Val) ref.Val {
		if len(args) < 2 {
			return nil
		}
		return check(args[0], args[1])
	}
}

// limitPairs returns an error if comparing all items of one list with all items of another reads too many values.
func limitPairs(name string, a, b ref.Val) ref.Val {
	n := max(value.ListLength(a), 1)
	left := int(maxPairs / n)
	if !value.CountParts(b, &left) {
		return types.NewErr("%s would compare more than %d pairs of values", name, maxPairs)
	}
	return nil
}

func limitSorted(args ...ref.Val) ref.Val {
	if n := value.ListLength(args[0]); n > maxSorted {
		return types.NewErr("a list of %d items cannot be sorted: %d are the most", n, maxSorted)
	}
	return nil
}

func limitFlatten(args ...ref.Val) ref.Val {
	if left := maxMade; !value.CountParts(args[0], &left) {
		return types.NewErr("flatten takes lists of at most %d values in all", maxMade)
	}
	return nil
}

// limitJoin returns an error if join(list, separator) would be too long.
func limitJoin(args ...ref.Val) ref.Val {
	if joinedLength(args) > maxText {
		return types.NewErr("join would give more than %d bytes", maxText)
	}
	return nil
}

// joinedLength returns the length of join(list, separator), or some length above maxText if it is longer than that.
func joinedLength(args []ref.Val) int64 {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return 0
	}
	separator := int64(0)
	if len(args) > 1 {
		separator = value.TextLength(args[1])
	}
	total := -separator
	for it := list.Iterator(); it.HasNext() == types.True && total <= maxText; {
		total += value.TextLength(it.Next()) + separator
	}
	return max(total, 0)
}

// limitSearch returns an error if cel-go's search for one text in another, which compares it at every position, would
// take too long.
func limitSearch(args ...ref.Val) ref.Val {
	if len(args) < 2 {
		return nil
	}
	text, _ := args[0].(types.String)
	wanted, _ := args[1].(types.String)
	if len(wanted) > 0 && len(text) > maxSearch/len(wanted) {
		return types.NewErr("a text of %d bytes is too long to look for one of %d in it", len(text), len(wanted))
	}
	return nil
}

// mapBytes is about the size of a map that is parsed from text, without its entries.
const mapBytes = 300

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
			total += mapBytes + value.ValueBytes + value.ItemBytes
		case c == '[' || c == ',' || c == ':':
			total += value.ValueBytes + value.ItemBytes
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
	if n > maxCall/node {
		return types.NewErr("fromYaml: more than %d values", maxCall/node)
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
	if n := value.TextLength(a) + value.TextLength(b); n > maxText {
		return types.NewErr("+ would give more than %d bytes", maxText)
	}
	if _, gathers := a.(traits.MutableLister); gathers {
		return nil
	}
	if value.ListLength(a)+value.ListLength(b) > maxMade {
		return types.NewErr("+ would give a list of more than %d items", maxMade)
	}
	return nil
}

// joined returns a + b for two lists, and nil for anything else. It replaces CEL's own sum, which is a view of both
// lists: views of views take ever longer to read, and can have more items than memory has room for.
func joined(a, b ref.Val) ref.Val {
	if _, gathers := a.(traits.MutableLister); gathers {
		return nil
	}
	l, ok := a.(traits.Lister)
	if !ok {
		return nil
	}
	r, ok := b.(traits.Lister)
	if !ok {
		return nil
	}
	items := make([]ref.Val, 0, value.ListLength(l)+value.ListLength(r))
	for _, list := range []traits.Lister{l, r} {
		for it := list.Iterator(); it.HasNext() == types.True; {
			items = append(items, it.Next())
		}
	}
	return types.NewRefValList(value.Adapter{}, items)
}

// limitReplace returns an error if the result of replace could be too long.
func limitReplace(args ...ref.Val) ref.Val {
	if n := replacedLength(args); n > maxText && n > value.TextLength(args[0]) {
		return types.NewErr("replace could give more than %d bytes", maxText)
	}
	return nil
}

// limitSplit returns an error if split would return too many items.
func limitSplit(args ...ref.Val) ref.Val {
	if splitCount(args) > maxMade {
		return types.NewErr("split would give a list of more than %d items", maxMade)
	}
	return nil
}

// limitFormat returns an error if the result of format could be too long, or format would visit too many values.
func limitFormat(args ...ref.Val) ref.Val {
	if len(args) < 2 {
		return nil
	}
	if _, err := value.Plain(args[1], maxText); errors.As(err, new(value.TooLongError)) {
		return types.NewErr("format: %v", err)
	}
	if digits := formatDigits(args[0]); digits > maxText {
		return types.NewErr("format: %v", value.TooLongError(maxText))
	}
	return nil
}
