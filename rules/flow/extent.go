package flow

import (
	"regexp"
	"strings"

	"github.com/google/cel-go/common/ast"

	"kanon.dev/kanon/rules/celenv"
)

// Extent is where a node is written in its expression. CEL knows only one position of a node, that of its operator, so
// the extent is known only for paths, literals and the expression as a whole.
func Extent(x *celenv.Expression, e ast.Expr) (offset int, text string, ok bool) {
	all := x.Text()
	switch p := PathOf(e); {
	case p.RootName() != "" && !asks(p):
		if offset = x.Offset(p.root.ID()); offset < 0 || !strings.HasPrefix(all[offset:], p.RootName()) {
			break
		}
		end := offset + len(p.RootName())
		for range p.Steps {
			length := stepLength(all[end:])
			if length == 0 {
				return 0, "", false
			}
			end += length
		}
		return offset, all[offset:end], true
	case e.Kind() == ast.LiteralKind:
		if offset = x.Offset(e.ID()); offset < 0 {
			break
		}
		if length := len(literal.FindString(all[offset:])); length > 0 {
			return offset, all[offset : offset+length], true
		}
	}
	if e.ID() != x.Root().ID() {
		return 0, "", false
	}
	text = strings.TrimSpace(all)
	return strings.Index(all, text), text, text != ""
}

func asks(p Path) bool { return len(p.Steps) > 0 && p.Steps[len(p.Steps)-1].Asks }

var (
	// step is a field, or an index that is a literal or a name.
	step = regexp.MustCompile("^\\s*(?:\\.\\s*\\??\\s*(?:[A-Za-z_]\\w*|`[^`]*`)|\\[\\s*\\??\\s*(?:\"[^\"\\\\]*\"|'[^'\\\\]*'|-?\\w+)\\s*\\])")
	// literal is a number, a truth value, null, or text without escapes.
	literal = regexp.MustCompile(`^(?:"[^"\\]*"|'[^'\\]*'|-?[0-9][0-9a-zA-Z.]*|true\b|false\b|null\b)`)
)

func stepLength(text string) int { return len(step.FindString(text)) }
