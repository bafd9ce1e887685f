package program

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/rules/celenv"
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
		return nil, false, session.refusal(err)
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
