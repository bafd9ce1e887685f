package celenv

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// orderRanges makes comprehensions walk over the maps that CEL itself makes in
// the order of their keys. (jsonMap does so by itself.)
func orderRanges(root ast.Expr) interpreter.PlannerOption {
	ranges := map[int64]bool{}
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			if r := e.AsComprehension().IterRange(); r.Kind() != ast.ListKind {
				ranges[r.ID()] = true
			}
		}
	}))
	return interpreter.CustomDecoratorV2(func(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
		if ranges[i.ID()] {
			return &orderedRange{InterpretableV2: i}, nil
		}
		return i, nil
	})
}

// orderedRange is the range of a comprehension.
type orderedRange struct {
	interpreter.InterpretableV2
}

func (o *orderedRange) Eval(vars interpreter.Activation) ref.Val {
	return o.Exec(interpreter.AsFrame(vars))
}

func (o *orderedRange) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	val := o.InterpretableV2.Exec(frame)
	switch m := val.(type) {
	case *jsonMap:
		return m
	case traits.Mapper:
		return &orderedMap{Mapper: m}
	}
	return val
}

// orderedMap is a map that is iterated in the order of its keys.
type orderedMap struct {
	traits.Mapper
}

func (m *orderedMap) Iterator() traits.Iterator {
	return types.NewRefValList(adapter{}, sortedKeys(m.Mapper)).Iterator()
}

func (m *orderedMap) Fold(f traits.Folder) {
	for _, k := range sortedKeys(m.Mapper) {
		val, _ := m.Find(k)
		if !f.FoldEntry(k, val) {
			return
		}
	}
}

// sortedKeys lists a map's keys: numbers by value, then text, then bools.
func sortedKeys(m traits.Mapper) []ref.Val {
	var keys []ref.Val
	for it := m.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

func compareKeys(a, b ref.Val) int {
	an, aIsNumber := number(a)
	bn, bIsNumber := number(b)
	switch {
	case aIsNumber && bIsNumber:
		return cmp.Compare(an, bn)
	case aIsNumber != bIsNumber:
		if aIsNumber {
			return -1
		}
		return 1
	}
	as, aIsText := a.(types.String)
	bs, bIsText := b.(types.String)
	switch {
	case aIsText && bIsText:
		return strings.Compare(string(as), string(bs))
	case aIsText != bIsText:
		if aIsText {
			return -1
		}
		return 1
	}
	return strings.Compare(types.Format(a), types.Format(b))
}

func number(val ref.Val) (float64, bool) {
	switch v := val.(type) {
	case types.Int:
		return float64(v), true
	case types.Uint:
		return float64(v), true
	case types.Double:
		return float64(v), true
	}
	return 0, false
}
