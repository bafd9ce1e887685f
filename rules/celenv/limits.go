package celenv

import (
	"regexp"
	"regexp/syntax"
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

// limitMatch returns an error if a regular expression could take too long on a text. The time of a match is at most
// proportional to the program of the expression and to the length of the text.
func limitMatch(args ...ref.Val) ref.Val {
	t, _ := args[0].(types.String)
	p, _ := args[1].(types.String)
	if len(p) > maxPattern {
		return types.NewErr("a regular expression can have at most %d bytes", maxPattern)
	}
	const most = 1000 // a few characters, such as x{1000}, can become so many instructions
	if len(t) == 0 || len(p) <= maxMatch/most/len(t) {
		return nil
	}
	parsed, err := syntax.Parse(string(p), syntax.Perl)
	if err != nil {
		return nil // the call says so
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err == nil && len(t) > maxMatch/len(prog.Inst) {
		return types.NewErr("a text of %d bytes is too long for this regular expression", len(t))
	}
	return nil
}

// findAll implements text.findAll(pattern) and text.findAll(pattern, most), because the library does not bound the
// number of results.
func findAll(args ...ref.Val) ref.Val {
	text, isText := args[0].(types.String)
	pattern, isPattern := args[1].(types.String)
	most, isInt := types.Int(-1), true
	if len(args) == 3 {
		most, isInt = args[2].(types.Int)
	}
	if !isText || !isPattern || !isInt {
		return types.NoSuchOverloadErr()
	}
	re, err := regexp.Compile(string(pattern))
	if err != nil {
		return types.NewErr("Illegal regex: %v", err.Error())
	}
	if most < 0 || most > maxMade {
		most = maxMade + 1
	}
	found := re.FindAllString(string(text), int(most))
	if len(found) > maxMade {
		return types.NewErr("findAll would give a list of more than %d items", maxMade)
	}
	return types.NewStringList(Adapter{}, found)
}

// ListLength returns the number of items of a list; 0 for every other value.
func ListLength(val ref.Val) int64 {
	list, ok := val.(traits.Lister)
	if !ok {
		return 0
	}
	size, _ := list.Size().(types.Int)
	return int64(size)
}

// TextLength returns the length in bytes of text or bytes; 0 for every other value.
func TextLength(val ref.Val) int64 { return int64(textLength(val)) }

// CountParts subtracts the number of values in a value, itself included, from left. It stops below 0, and reports
// whether left sufficed.
func CountParts(val any, left *int) bool {
	*left--
	return *left >= 0 && eachPart(val, func(_, _ int64, part any) bool { return CountParts(part, left) })
}

// measure is CountParts that also subtracts the bytes of texts and keys.
func measure(val any, left *int) bool {
	*left -= 1 + textLength(val)
	return *left >= 0 && eachPart(val, func(_, key int64, part any) bool {
		*left -= int(key)
		return measure(part, left)
	})
}

// textLength is TextLength for a value that can be JSON.
func textLength(val any) int {
	switch v := val.(type) {
	case string:
		return len(v)
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	}
	return 0
}

// eachPart calls do for the values directly in a value, each with the bytes of its place and of its key. It stops if do
// returns false, and reports whether it visited all.
func eachPart(val any, do func(place, key int64, part any) bool) bool {
	switch v := val.(type) {
	case map[string]any:
		for name, field := range v {
			if !do(EntryBytes, int64(len(name)), field) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if !do(ItemBytes, 0, item) {
				return false
			}
		}
	case *jsonMap:
		return do(0, 0, v.fields)
	case *madeMap:
		return do(0, 0, v.fields)
	case *jsonList:
		return do(0, 0, v.items)
	case *types.Optional:
		return !v.HasValue() || do(0, 0, v.GetValue())
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			if field, _ := v.Find(key); !do(EntryBytes+ValueBytes, TextLength(key), field) {
				return false
			}
		}
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			if !do(ItemBytes, 0, it.Next()) {
				return false
			}
		}
	}
	return true
}

// The approximate size in bytes of a value, of an item's place in a list, and of an entry's place in a map, without
// their content.
const (
	ValueBytes = 32
	ItemBytes  = 24
	EntryBytes = 96
)

// MadeBytes returns the approximate size in bytes of the result of a call or a literal, without what it shares with
// other values.
func MadeBytes(val ref.Val) int64 {
	switch v := val.(type) {
	case types.String, types.Bytes:
		return ValueBytes + TextLength(v)
	case traits.MutableLister: // the accumulator of a loop: each iteration adds an item
		return 2 * ItemBytes
	case traits.MutableMapper:
		return 2 * EntryBytes
	case traits.Lister:
		return ValueBytes + (ItemBytes+ValueBytes)*ListLength(v)
	case traits.Mapper:
		size, _ := v.Size().(types.Int)
		return ValueBytes + EntryBytes*int64(size)
	}
	return ValueBytes
}

// Retained returns how many of the bytes that an expression made its value still occupies. It is at most made, since the
// rest of the value is shared with what existed before.
func Retained(val ref.Val, made int64) int64 {
	if val == nil {
		return 0
	}
	left := made
	Occupies(val, &left)
	return made - max(left, 0)
}

// Occupies subtracts the size of a value from left, and stops below 0.
func Occupies(val any, left *int64) {
	if *left -= ValueBytes + int64(textLength(val)); *left >= 0 {
		eachPart(val, func(place, key int64, part any) bool {
			if *left -= place + key; *left >= 0 {
				Occupies(part, left)
			}
			return *left >= 0
		})
	}
}
