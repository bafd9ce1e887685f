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

// Fixer turns hints into fixes. Hints are for people, but some are exact: "write string(parent.spec.port)" says what
// replaces a node. A hint may shorten the node; the fix has it as the author wrote it.
type Fixer struct {
	Expr *celenv.Expression
	// At is the position of an offset in the expression.
	At func(offset int) diagnostic.Position
	// Quote is the quote for text in the expression; see QuoteIn.
	Quote string
}

var isFunction = regexp.MustCompile(`^[a-z]+$`)

// Advise gives a finding a hint, and a fix if the hint says what to write instead of one of the nodes. short is a node
// as hints show it.
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

// rewritten returns what a hint says to write instead of a node, or "" if the hint is not about the node.
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

// QuoteIn returns a quote for text in the expressions of a scalar that does not end the scalar in YAML.
func QuoteIn(n *yamltree.Node) string {
	if strings.HasPrefix(n.Literal(), "'") {
		return `"`
	}
	return "'"
}
