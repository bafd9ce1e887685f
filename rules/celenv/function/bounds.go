package function

import (
	"math"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"kanon.dev/kanon/rules/celenv/value"
)

// bound is the maximum size of a call's result, in bytes. It does not count what the result shares with the arguments.
type bound struct {
	// fixed is the part that does not depend on the arguments.
	fixed int64
	// of is the part that does; nil if there is none.
	of func(args []ref.Val) int64
}

// maxCall is the maximum size of a call's result, in bytes. Text for an object has a stricter bound, maxText.
const maxCall = 16 << 20

// most returns the bound for these arguments.
func (b bound) most(args []ref.Val) int64 {
	if b.of == nil {
		return b.fixed
	}
	return b.fixed + b.of(args)
}

// small is the bound of a small value, such as a number.
func small() bound { return bound{fixed: 2 * value.ValueBytes} }

// partOf is the bound of a result that is one of the arguments, or a part of one.
func partOf() bound { return small() }

// atMost is the bound of a result with a maximum length.
func atMost(bytes int64) bound { return bound{fixed: value.ValueBytes + bytes} }

// texts is the bound of a result that is at most times as long as all texts among the arguments together.
func texts(times int64) bound {
	return bound{fixed: 2 * value.ValueBytes, of: func(args []ref.Val) int64 { return times * sumOf(args, value.TextLength) }}
}

// sumOf adds up a measure of all arguments.
func sumOf(args []ref.Val, measure func(ref.Val) int64) int64 {
	total := int64(0)
	for _, arg := range args {
		total += measure(arg)
	}
	return total
}

// lists is the bound of a list with the items of all lists among the arguments.
func lists() bound {
	return bound{fixed: value.ValueBytes, of: func(args []ref.Val) int64 {
		return (value.ItemBytes + value.ValueBytes) * sumOf(args, value.ListLength)
	}}
}

// maxNumber is the longest text that is parsed as a number, a time or an address.
const maxNumber = 1 << 10

// sums is the bound of a result into which all texts, bytes and lists among the arguments are copied, such as a + b.
func sums() bound {
	return bound{fixed: 2 * value.ValueBytes, of: func(args []ref.Val) int64 {
		return sumOf(args, value.TextLength) + (value.ItemBytes+value.ValueBytes)*sumOf(args, value.ListLength)
	}}
}

func joins() bound { return bound{fixed: 2 * value.ValueBytes, of: joinedLength} }

func replaced() bound { return bound{fixed: 2 * value.ValueBytes, of: replacedLength} }

func splits() bound {
	return bound{fixed: value.ValueBytes, of: func(args []ref.Val) int64 { return (value.ItemBytes + value.ValueBytes) * splitCount(args) }}
}

func formatted() bound { return bound{fixed: 2 * value.ValueBytes, of: formattedLength} }

func ranged() bound {
	return bound{fixed: value.ValueBytes, of: func(args []ref.Val) int64 {
		n, _ := args[0].(types.Int)
		return (value.ItemBytes + value.ValueBytes) * int64(min(max(n, 0), maxRange))
	}}
}

func inserted() bound {
	return bound{fixed: 2 * value.EntryBytes, of: func(args []ref.Val) int64 { return value.EntryBytes * insertedEntries(args) }}
}

// replacedLength returns the maximum length of replace(text, old, new).
func replacedLength(args []ref.Val) int64 {
	if len(args) < 3 {
		return 0
	}
	text, old, repl := value.TextLength(args[0]), value.TextLength(args[1]), value.TextLength(args[2])
	times := text/max(old, 1) + 1
	if repl <= old {
		return text
	}
	return text + times*(repl-old)
}

// splitCount returns the number of items of split(text, separator).
func splitCount(args []ref.Val) int64 {
	if len(args) < 2 {
		return 0
	}
	text, _ := args[0].(types.String)
	separator, _ := args[1].(types.String)
	n := int64(strings.Count(string(text), string(separator)) + 1)
	if len(args) > 2 {
		if most, ok := args[2].(types.Int); ok && most >= 0 {
			n = min(n, int64(most))
		}
	}
	return n
}

// formattedLength returns the maximum length of text.format(args): the text, the arguments with escapes, and the digits
// that the clauses add.
func formattedLength(args []ref.Val) int64 {
	if len(args) < 2 {
		return 0
	}
	const most = maxCall
	left := int64(most)
	value.Occupies(args[1], &left)
	return value.TextLength(args[0]) + formatDigits(args[0]) + 2*(most-max(left, 0))
}

// formatDigits returns the maximum length of the numbers that the clauses of a format write: a double without an
// exponent, and the digits of its precision.
func formatDigits(format ref.Val) int64 {
	const number = 330
	text, _ := format.(types.String)
	total := int64(0)
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			continue
		}
		i++
		digits := int64(0)
		if i < len(text) && text[i] == '.' {
			for i++; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
				digits = min(digits*10+int64(text[i]-'0'), math.MaxInt32)
			}
		}
		if i < len(text) && text[i] != '%' {
			total += number + digits
		}
	}
	return total
}

// insertedEntries returns the number of entries that a call adds to the map of a loop, which grows in place.
func insertedEntries(args []ref.Val) int64 {
	if m, ok := args[len(args)-1].(traits.Mapper); ok && len(args) == 2 {
		size, _ := m.Size().(types.Int)
		return int64(size)
	}
	return 1
}

// merged is the bound of a merged map.
func merged() bound { return atMost(2 * value.EntryBytes * maxMerged) }

// decoded is the bound of a value that is parsed from JSON.
func decoded() bound {
	return bound{fixed: value.ValueBytes, of: func(args []ref.Val) int64 {
		text, _ := args[0].(types.String)
		return jsonBytes(string(text))
	}}
}
