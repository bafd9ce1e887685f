package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Each reason of a condition or an Event is known, and explained to users.
func TestReasonsAreExplained(t *testing.T) {
	docs, err := os.ReadFile("../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "reason") || len(spec.Values) != 1 {
			return true
		}
		reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		found++
		if !strings.Contains(string(docs), "`"+reason+"`") {
			t.Errorf("docs/rules.md does not explain the reason %s", reason)
		}
		if !isReason(reason) {
			t.Errorf("isReason does not know %s", reason)
		}
		return true
	})
	if found < 10 {
		t.Errorf("found %d reasons only", found)
	}
}
