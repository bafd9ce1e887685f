package rules

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/run"
)

// collectDefaulted notes the path of size(path.?x.orValue([])) > 0 and the like,
// which with the default is false: where it is true, the path is there.
func (t *typing) collectDefaulted(e ast.Expr, asked map[string]bool) {
	if t.expr.TypeOf(e.ID()).Kind() != types.BoolKind {
		return
	}
	var found ast.Expr
	for _, n := range descendants(e, nil) {
		switch {
		case n.Kind() != ast.CallKind || n.AsCall().FunctionName() != "orValue" || !n.AsCall().IsMemberFunction():
		case found != nil && t.expr.Source(n) != t.expr.Source(found):
			return // it may be the other one's
		default:
			found = n
		}
	}
	if found == nil {
		return
	}
	call := found.AsCall()
	path := t.path(call.Target())
	if path == "" {
		return
	}
	text := strings.ReplaceAll(t.expr.Source(e), t.expr.Source(found), "("+t.expr.Source(call.Args()[0])+")")
	if val, ok := run.ConstantText(t.expr.Env(), text); ok && val == types.False {
		path = strings.ReplaceAll(strings.ReplaceAll(path, ".?", "."), "[?", "[")
		for at := len(path); at > 0; at = strings.LastIndexByte(path[:at], '.') {
			asked[path[:at]] = true
		}
	}
}

// defaulted are the paths that a condition in the expression asks for by way of a
// default.
func (t *typing) defaulted() map[string]bool {
	if t.withDefaults == nil {
		t.withDefaults = map[string]bool{}
		for _, e := range t.expr.Nodes() {
			if e.Kind() == ast.CallKind {
				t.collectDefaulted(e, t.withDefaults)
			}
		}
	}
	return t.withDefaults
}

// descendants are a node and all below it.
func descendants(e ast.Expr, found []ast.Expr) []ast.Expr {
	found = append(found, e)
	for _, o := range celenv.Operands(e) {
		found = descendants(o, found)
	}
	return found
}
