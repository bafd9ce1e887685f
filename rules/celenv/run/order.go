package run

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/value"
)

// orderRanges makes loops iterate over maps that CEL made in the order of their keys. Maps of JSON do so themselves.
func orderRanges(root ast.Expr) interpreter.PlannerOption {
	ranges := map[int64]bool{}
	for e := range celenv.All(root) {
		if e.Kind() == ast.ComprehensionKind {
			if r := e.AsComprehension().IterRange(); r.Kind() != ast.ListKind {
				ranges[r.ID()] = true
			}
		}
	}
	return decorate(func(i interpreter.InterpretableV2) exec {
		if !ranges[i.ID()] {
			return nil
		}
		return func(frame *interpreter.ExecutionFrame) ref.Val {
			val := i.Exec(frame)
			if plain, _ := value.JSON(val); plain != nil {
				return val
			}
			if m, ok := val.(traits.Mapper); ok {
				return &orderedMap{Mapper: m}
			}
			return val
		}
	})
}

// orderedMap is a map that is iterated in the order of its keys.
type orderedMap struct {
	traits.Mapper
}

func (m *orderedMap) Iterator() traits.Iterator {
	return types.NewRefValList(value.Adapter{}, value.SortedKeys(m.Mapper)).Iterator()
}

func (m *orderedMap) Fold(f traits.Folder) {
	for _, k := range value.SortedKeys(m.Mapper) {
		val, _ := m.Find(k)
		if !f.FoldEntry(k, val) {
			return
		}
	}
}
