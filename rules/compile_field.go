package rules

import (
	"slices"
	"time"

	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/constant"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/naming"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/yamltree"
)

// form is what a scalar must give that stands for text, a duration, a policy and the like.
type form struct {
	// what names the form in messages. kinds are the types of expressions that can give it.
	what  string
	kinds []types.Kind
	check constant.Attempt
}

func message() form {
	return form{"a string", []types.Kind{types.StringKind}, constant.AttemptOf(template.TextOf)}
}

// reason is one word of at most so many bytes.
func reason(longest int) form {
	return form{"a string", []types.Kind{types.StringKind}, constant.AttemptOf(func(t template.Template, s template.Scope) (string, *template.Problem) {
		return template.ReasonOf(t, s, longest)
	})}
}

// objectName is the form of the name of an object, or of its namespace.
func objectName(field string) form {
	check := naming.IsPathSegment
	if field == "namespace" {
		check = validation.IsDNS1123Label
	}
	return form{"a string", []types.Kind{types.StringKind}, constant.AttemptOf(func(t template.Template, s template.Scope) (string, *template.Problem) {
		return template.NameOf(t, s, field, check)
	})}
}

func conditionStatus() form {
	return form{"true or false, or True, False or Unknown", []types.Kind{types.BoolKind, types.StringKind}, constant.AttemptOf(template.ConditionStatusOf)}
}

// aDeletionPolicy names a deletion policy in messages.
const aDeletionPolicy = "Delete or Orphan"

func deletionPolicy() form {
	return form{aDeletionPolicy, []types.Kind{types.StringKind}, constant.AttemptOf(template.DeletionPolicyOf)}
}

func share() form {
	return form{"an int, or text such as 25%", []types.Kind{types.IntKind, types.StringKind}, constant.AttemptOf(template.ShareOf)}
}

func duration(least time.Duration) form {
	kinds := []types.Kind{types.DurationKind, types.StringKind, types.NullTypeKind}
	return form{"a duration, or text such as 10m", kinds, constant.AttemptOf(func(t template.Template, s template.Scope) (time.Duration, *template.Problem) {
		return template.DurationOf(t, s, least)
	})}
}

// field compiles a scalar that must give a form; nil for nil.
func (c *compiler) field(n *yamltree.Node, sc *compileScope, u *flow.Uses, f form) template.Template {
	if n == nil {
		return nil
	}
	t := c.scalar(n, sc, u, f)
	c.constants.Try(n, t, c.constantsOf(sc), sc.Place, f.check)
	return t
}

// scalar compiles a scalar. A single expression must have one of the form's types, as far as its type is known.
func (c *compiler) scalar(n *yamltree.Node, sc *compileScope, u *flow.Uses, f form) template.Template {
	whole, ok := scanner.WholeOf(n)
	if !ok || whole.Spread {
		t, _ := c.template(n, sc, u)
		return t
	}
	x, _ := c.expression(n, whole, sc, u)
	if x == nil {
		return nil
	}
	isText := x.IsText() && slices.Contains(f.kinds, types.StringKind) // a time in an object is text
	if !isText && !x.CanBe(f.kinds...) {
		wrong := c.ReportSpan(n, whole.Offset, len(whole.Text), diagnostic.CodeResultType, "%s must be %s, and this gives %s", sc.Place, f.what, x.Type)
		noText, _ := x.TextHint()
		if len(f.kinds) == 1 && f.kinds[0] == types.StringKind && noText == "" && f.what != aDeletionPolicy || x.Inner().Kind() == types.BytesKind {
			wrong.WithHint("write string(…) around it")
			c.wrapInString(wrong, n, whole)
		}
		return nil
	}
	x.goesInto(textSchema())
	return template.Expr{X: x.run}
}
