package program

import (
	"errors"
	"fmt"
	"iter"
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

// Template is a compiled part of a rule: a Const, an Expr, a Text, a Map or a List. Render returns plain JSON that the
// caller owns. In a read-only scope the caller shares it, and a value with bytes in it stays a CEL value. ok is false
// for a field or an item that is left out.
type Template interface {
	Render(s Scope) (val any, ok bool, p *Problem)
}

// Expressions iterates over the expressions in a part of a rule, in the order of its text.
func Expressions(t Template) iter.Seq[*Expression] {
	return func(yield func(*Expression) bool) { each(t, yield) }
}

func each(t Template, yield func(*Expression) bool) bool {
	switch t := t.(type) {
	case Expr:
		return yield(t.X)
	case Text:
		for _, part := range t.Parts {
			if part.X != nil && !yield(part.X) {
				return false
			}
		}
	case Map:
		for _, e := range t.Entries {
			if e.Key != nil && !each(*e.Key, yield) || !each(e.Value, yield) {
				return false
			}
		}
	case List:
		for _, item := range t.Items {
			if item.Spread != nil {
				if !yield(item.Spread) {
					return false
				}
			} else if !each(item.Value, yield) {
				return false
			}
		}
	}
	return true
}

// Const is a part without expressions.
type Const struct{ Value any }

// Render implements Template.
func (t Const) Render(s Scope) (any, bool, *Problem) {
	if s.ReadOnly() {
		return t.Value, true, nil
	}
	return celenv.CopyJSON(t.Value), true, nil
}

// Expr is a scalar that is one whole expression.
type Expr struct{ X *Expression }

// Render implements Template.
func (t Expr) Render(s Scope) (any, bool, *Problem) {
	val, p := t.X.Eval(s)
	if p != nil {
		return nil, false, p
	}
	session := s.Session()
	session.drafted += session.Budget.Memory.Retained()
	if shared, ok := celenv.JSON(val); ok && s.ReadOnly() {
		return shared, true, nil
	}
	if n, isList := celenv.Length(val); isList {
		if p := session.List(n); p != nil {
			return nil, false, p.Of(Shorten(t.X.Text))
		}
	}
	plain, err := session.plain(val, celenv.Place{Schema: t.X.Into, KeepsBytes: s.ReadOnly()})
	switch {
	case errors.Is(err, celenv.ErrNoValue):
		return nil, false, nil
	case errors.Is(err, celenv.ErrTooManyParts):
		return nil, false, session.tooLarge()
	case errors.Is(err, celenv.ErrMemory), errors.Is(err, celenv.ErrSharedMemory):
		return nil, false, session.refusal(err).Of(Shorten(t.X.Text))
	case err != nil:
		return nil, false, Failure("%s: %s", Shorten(t.X.Text), session.misplaced(err))
	}
	return plain, true, nil
}

// Text is a string of text and expressions.
type Text struct{ Parts []Part }

// Part is text, or an expression.
type Part struct {
	Text string
	X    *Expression // nil: text
}

// Render implements Template.
func (t Text) Render(s Scope) (any, bool, *Problem) {
	text, p := t.text(s)
	return text, p == nil, p
}

func (t Text) text(s Scope) (string, *Problem) {
	var b strings.Builder
	session := s.Session()
	for _, part := range t.Parts {
		if part.X == nil {
			b.WriteString(part.Text)
			continue
		}
		val, p := part.X.Eval(s)
		if p != nil {
			return "", p
		}
		text, err := celenv.ToText(val)
		if err != nil {
			return "", Failure("%s: %s", Shorten(part.X.Text), session.misplaced(err))
		}
		session.drafted += session.Budget.Memory.Retained()
		b.WriteString(text)
		if b.Len() > session.limits.ObjectBytes {
			return "", session.tooLarge()
		}
	}
	if p := session.draft(int64(b.Len())); p != nil {
		return "", p
	}
	return b.String(), nil
}

// Map is a mapping with an expression somewhere in it.
type Map struct{ Entries []Entry }

// Entry is a field of a Map.
type Entry struct {
	Name  string
	Key   *Text // for a key with expressions
	Value Template
}

// Render implements Template.
func (t Map) Render(s Scope) (any, bool, *Problem) {
	out, own := make(map[string]any, len(t.Entries)), false
	for i := range t.Entries {
		e := &t.Entries[i]
		name, p := e.KeyOf(s)
		if p != nil {
			return nil, false, p.Under("the key " + e.Name)
		}
		val, ok, p := e.Value.Render(s)
		if p != nil {
			return nil, false, p.Under(e.ShownKey(name, s))
		}
		if !ok || val == nil {
			continue
		}
		if _, twice := out[name]; twice && e.Key != nil {
			return nil, false, Failure("two keys are %s", s.Session().Shown(name))
		}
		out[name], own = val, own || isOwn(val)
	}
	if own {
		return celenv.Made(out), true, nil
	}
	return out, true, nil
}

func isOwn(val any) bool {
	_, own := val.(ref.Val)
	return own
}

// KeyOf renders the key.
func (e *Entry) KeyOf(s Scope) (string, *Problem) {
	if e.Key == nil {
		return e.Name, nil
	}
	return e.Key.text(s)
}

// ShownKey is a key for the path of a message.
func (e *Entry) ShownKey(name string, s Scope) string {
	if e.Key != nil && s.Session().secrets {
		return "the key " + e.Name
	}
	return name
}

// List is a list with an expression somewhere in it.
type List struct{ Items []Item }

// Item is an item of a List, or with Spread several.
type Item struct {
	Value  Template
	Spread *Expression // for ${...list}
}

// Render implements Template.
func (t List) Render(s Scope) (any, bool, *Problem) {
	out := make([]any, 0, len(t.Items))
	for i, item := range t.Items {
		if item.Spread != nil {
			more, p := item.spliced(s)
			if p != nil {
				return nil, false, p.Under(fmt.Sprintf("[%d]", i))
			}
			out = append(out, more...)
			if p := s.Session().List(len(out)); p != nil {
				return nil, false, p
			}
			continue
		}
		val, ok, p := item.Value.Render(s)
		if p != nil {
			return nil, false, p.Under(fmt.Sprintf("[%d]", i))
		}
		if ok {
			out = append(out, val)
		}
	}
	if slices.ContainsFunc(out, isOwn) {
		return celenv.MadeList(out), true, nil
	}
	return out, true, nil
}

// spliced are the items of ${...list}; none for null and optional.none().
func (i Item) spliced(s Scope) ([]any, *Problem) {
	val, ok, p := Expr{X: i.Spread}.Render(s)
	if p != nil || !ok || val == nil {
		return nil, p
	}
	list, isList := celenv.Parts(val)
	if !isList {
		return nil, Failure("${...%s} needs a list", Shorten(i.Spread.Text))
	}
	return list, nil
}

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
