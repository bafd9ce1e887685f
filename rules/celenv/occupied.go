package celenv

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

const (
	// valueBytes is about what every value takes, and itemBytes and entryBytes what an
	// item takes in a list and an entry in a map, without what they hold.
	valueBytes, itemBytes, entryBytes = 32, 24, 96
)

// madeBytes is about how many bytes a value takes that a call or a literal has made,
// without what it shares with others.
func madeBytes(val ref.Val) int64 {
	switch v := val.(type) {
	case types.String:
		return valueBytes + int64(len(v))
	case types.Bytes:
		return valueBytes + int64(len(v))
	case traits.MutableLister: // what a loop gathers: each turn adds an item
		return 2 * itemBytes
	case traits.MutableMapper:
		return 2 * entryBytes
	case *madeMap:
		return valueBytes + entryBytes*int64(v.entries) //nolint:gosec // maxMerged at the most.
	case traits.Lister:
		return valueBytes + (itemBytes+valueBytes)*length(v)
	case traits.Mapper:
		size, _ := v.Size().(types.Int)
		return valueBytes + entryBytes*int64(size)
	}
	return valueBytes
}

// kept is how many bytes a value holds of those that its expression has made: all of
// them at the most, since the value may share the others with what was there before.
func kept(val ref.Val, made int64) int64 {
	if val == nil {
		return 0
	}
	left := made
	occupies(val, &left)
	return made - max(left, 0)
}

// occupies counts the bytes of a value down from left, and ends where none are left.
func occupies(val any, left *int64) {
	if *left -= valueBytes; *left < 0 {
		return
	}
	switch v := val.(type) {
	case string:
		*left -= int64(len(v))
	case types.String:
		*left -= int64(len(v))
	case types.Bytes:
		*left -= int64(len(v))
	case map[string]any:
		for name, field := range v {
			if *left -= entryBytes + int64(len(name)); *left < 0 {
				return
			}
			occupies(field, left)
		}
	case []any:
		for _, item := range v {
			if *left -= itemBytes; *left < 0 {
				return
			}
			occupies(item, left)
		}
	case *jsonMap:
		occupies(v.fields, left)
	case *madeMap:
		occupies(v.fields, left)
	case *jsonList:
		occupies(v.items, left)
	case *types.Optional:
		if v.HasValue() {
			occupies(v.GetValue(), left)
		}
	case traits.Mapper:
		for it := v.Iterator(); *left >= 0 && it.HasNext() == types.True; {
			key := it.Next()
			field, _ := v.Find(key)
			*left -= entryBytes
			occupies(key, left)
			occupies(field, left)
		}
	case traits.Lister:
		for it := v.Iterator(); *left >= 0 && it.HasNext() == types.True; {
			*left -= itemBytes
			occupies(it.Next(), left)
		}
	}
}

// BudgetName is the name under which an activation gives the *Budget of the
// evaluation to expressions whose cost is not metered. It cannot be written in an
// expression.
const BudgetName = "@kanon_budget"

// noticed is how long a text must be for an expression that is not metered to count
// it: it has few nodes.
const noticed = 1 << 10

// counted makes the calls that can make long values tell the evaluation's Memory, in
// an expression whose cost is not metered.
func counted(table *Table) interpreter.PlannerOption {
	return interpreter.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if call, ok := i.(interpreter.InterpretableCall); ok && table.Declared(call.Function()).makes() {
			return &countedNode{InterpretableV2: i}, nil
		}
		return i, nil
	})
}

// countedNode is a call that can make a long value, in an expression whose cost is
// not metered.
type countedNode struct {
	interpreter.InterpretableV2
}

func (n *countedNode) Eval(vars interpreter.Activation) ref.Val {
	return n.Exec(interpreter.AsFrame(vars))
}

func (n *countedNode) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	val := n.InterpretableV2.Exec(frame)
	switch v := val.(type) { // what a sum of numbers is stays fast
	case types.Int, types.Double, *types.Err:
		return val
	case types.String:
		if len(v) < noticed {
			return val
		}
	}
	if bytes := madeBytes(val); bytes >= noticed {
		if b := budgetOf(frame); b != nil {
			b.Memory.add(bytes)
		}
	}
	return val
}
