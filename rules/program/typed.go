package program

import (
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/syntax"
)

// The functions in this file render and check values of fields that allow certain values only. An evaluation calls
// them, and so does the compiler for values that never change.

// TextOf renders what must be text.
func TextOf(t Template, s Scope) (string, *Problem) {
	val, ok, p := t.Render(s)
	if p != nil {
		return "", p
	}
	text, isText := val.(string)
	if !isText {
		return "", Failure("must be a string, and is %s", s.Session().describe(val, ok))
	}
	return text, nil
}

// ReasonOf renders the reason of a condition or an event.
func ReasonOf(t Template, s Scope, longest int) (string, *Problem) {
	reason, p := TextOf(t, s)
	if p != nil {
		return "", p
	}
	if wrong := syntax.WrongReason(reason, longest); wrong != "" {
		return "", Failure("%s, and is %s", wrong, s.Session().Shown(reason))
	}
	return reason, nil
}

// ConditionStatusOf renders the status of a condition.
func ConditionStatusOf(t Template, s Scope) (string, *Problem) {
	val, ok, p := t.Render(s)
	if p != nil {
		return "", p
	}
	text, _ := val.(string)
	if b, isBool := val.(bool); isBool {
		text = map[bool]string{true: "True", false: "False"}[b]
	}
	if !ok || !syntax.IsConditionStatus(text) {
		return "", Failure("must be true or false, or True, False or Unknown, and is %s", s.Session().describe(val, ok))
	}
	return text, nil
}

// DeletionPolicyOf renders a deletionPolicy.
func DeletionPolicyOf(t Template, s Scope) (syntax.DeletionPolicy, *Problem) {
	text, p := TextOf(t, s)
	if p == nil && !slices.Contains(syntax.DeletionPolicies(), text) {
		p = Failure("must be %s, and is %s", strings.Join(syntax.DeletionPolicies(), " or "), s.Session().Shown(text))
	}
	return syntax.DeletionPolicy(text), p
}

// DurationOf renders a duration of at least least; zero for null and optional.none().
func DurationOf(t Template, s Scope, least time.Duration) (time.Duration, *Problem) {
	val, ok, p := t.Render(s)
	if p != nil || !ok || val == nil {
		return 0, p
	}
	text, isText := val.(string)
	if !isText {
		return 0, Failure("must be a duration, or text such as 10m, and is %s", TypeOf(val))
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, Failure("must be a duration such as 90s, 10m or 1h30m, and is %s", s.Session().Shown(text))
	case d < least: // by how much can change with the clock, and a message must not
		return 0, Failure("must be at least %s, and is shorter; give null where there should be none", least)
	}
	return d, nil
}

// ShareOf renders a number of items, or a percentage of them.
func ShareOf(t Template, s Scope) (syntax.Share, *Problem) {
	val, ok, p := t.Render(s)
	if p != nil {
		return syntax.Share{}, p
	}
	if !ok {
		val = nil
	}
	share, err := syntax.ShareOf(val)
	if err != nil {
		return syntax.Share{}, Failure("%s, and is %s", err.Error(), TypeOf(val))
	}
	return share, nil
}

// NameOf renders a name or a namespace, as what says. It is empty if there is no value.
func NameOf(t Template, s Scope, what string, check func(string) []string) (string, *Problem) {
	val, ok, p := t.Render(s)
	if p != nil || !ok || val == nil {
		return "", p
	}
	name, isText := val.(string)
	switch {
	case !isText:
		return "", Failure("this must be a string, and is %s", TypeOf(val)).Advising("make it one with string(…)")
	case name == "":
		return "", Failure("the %s is empty", what)
	case len(check(name)) > 0:
		return "", Failure("the %s %s is not one that Kubernetes accepts", what, s.Session().Shown(name))
	}
	return name, nil
}

// SelectorOf renders a label selector. A selector that would match everything fails.
func SelectorOf(t Template, s Scope) (labels.Selector, *Problem) {
	val, _, p := t.Render(s)
	if p != nil {
		return nil, p.Flat()
	}
	fields, ok := val.(map[string]any)
	if !ok {
		return nil, Failure("the selector must be a map with matchLabels or matchExpressions, and is %s", TypeOf(val))
	}
	var spec metav1.LabelSelector
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, &spec, true)
	var selector labels.Selector
	if err == nil {
		selector, err = metav1.LabelSelectorAsSelector(&spec)
	}
	switch {
	case err != nil && s.Session().secrets:
		return nil, Failure("this is no selector: %s", NotShown)
	case err != nil:
		text, _, _ := strings.Cut(err.Error(), ": a valid label") // the rules for labels are long
		return nil, Failure("this is no selector: %s", strings.TrimPrefix(text, "strict decoding error: "))
	case selector.Empty():
		return nil, Failure("the selector is empty, which would select all; to select all, write selector: {}")
	}
	return selector, nil
}

// ItemsOf are the items of a list, or of a map as {key, value}. s is read-only.
func ItemsOf(t Template, s Scope) ([]ref.Val, *Problem) {
	var val ref.Val
	var p *Problem
	if x, ok := t.(Expr); ok {
		val, p = x.X.Eval(s)
	} else {
		var plain any
		plain, _, p = t.Render(s)
		val = celenv.FromJSON(plain)
	}
	if p != nil {
		return nil, p
	}
	if n, ok := celenv.Count(val); ok {
		if p := s.Session().List(n); p != nil {
			return nil, p
		}
	}
	items, err := celenv.Items(val)
	switch {
	case err == nil:
		return items, nil
	case val.Type() == types.IntType:
		return nil, Failure("%s", err.Error()).Advising("write lists.range(…) for an item for each number from 0")
	default:
		return nil, Failure("%s", err.Error())
	}
}
