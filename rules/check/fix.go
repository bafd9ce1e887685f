package check

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/yamltree"
)

// Hints are for people, and some of them are exact: "write string(parent.spec.port)" says what to write in the place of a node.
// What is written there is the node as its author wrote it, and not as a hint shows it.

// Fixer makes the fixes of an expression.
type Fixer struct {
	Expr *celenv.Expression
	// At is the position of an offset in the expression.
	At func(offset int) diagnostic.Position
	// Quote begins and ends text in the expression, where that is not a quote of YAML.
	Quote string
}

var isFunction = regexp.MustCompile(`^[a-z]+$`)

// Advise gives a finding a hint, and a fix if the hint says what to write in the place of one of some nodes. short is how hints
// show a node.
func (x Fixer) Advise(f *diagnostic.Finding, hint string, short func(ast.Expr) string, nodes ...ast.Expr) {
	f.Hint = hint
	written, exact := strings.CutPrefix(hint, "write ")
	if !exact || strings.Contains(hint, "…") {
		return
	}
	for _, e := range nodes {
		offset, text, ok := flow.Extent(x.Expr, e)
		if !ok {
			continue
		}
		if after := x.rewritten(e, written, short(e), text); after != "" {
			f.WithEdit(x.At(offset), text, after)
			return
		}
	}
}

// rewritten is what a hint says to write in the place of a node; empty if it is about something else.
func (x Fixer) rewritten(e ast.Expr, written, short, text string) string {
	if function, ok := strings.CutSuffix(written, "("+short+")"); ok && isFunction.MatchString(function) {
		return function + "(" + text + ")"
	}
	if e.Kind() == ast.LiteralKind {
		plain, isText := flow.LiteralText(e)
		switch {
		case isText && (written == plain+" without quotes" || written == plain):
			return plain
		case !isText && (written == strconv.Quote(short) || written == "'"+short+"'"):
			return x.Quote + text + x.Quote
		}
		return ""
	}
	for _, before := range []string{short, "(" + short + ")"} {
		if rest, ok := strings.CutPrefix(written, before); ok && rest != "" && strings.ContainsAny(rest[:1], " .") {
			return strings.Replace(before, short, text, 1) + strings.NewReplacer(`""`, x.Quote+x.Quote, "'true'", x.Quote+"true"+x.Quote).Replace(rest)
		}
	}
	return ""
}

// QuoteIn is the quote for text in the expressions of a scalar, which is none of YAML's.
func QuoteIn(n *yamltree.Node) string {
	if strings.HasPrefix(n.Literal(), "'") {
		return `"`
	}
	return "'"
}
