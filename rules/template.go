package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types/ref"

	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/celenv/value"
)

// template is a compiled part of a rule. render gives plain JSON that the
// caller owns. In a scope that is readOnly the caller shares it, and what has bytes in
// it is a value of CEL's own. ok is false where the field or item is to be left out.
type template interface {
	render(s *scope) (val any, ok bool, p *problem)
}

// constTemplate is a part without expressions.
type constTemplate struct{ value any }

func (t constTemplate) render(s *scope) (any, bool, *problem) {
	if s.readOnly {
		return t.value, true, nil
	}
	return value.CopyJSON(t.value), true, nil
}

// exprTemplate is a string that is one whole expression.
type exprTemplate struct{ x *expression }

func (t exprTemplate) render(s *scope) (any, bool, *problem) {
	val, p := t.x.eval(s)
	if p != nil {
		return nil, false, p
	}
	s.ev.drafted += s.ev.budget.Memory.Held()
	if shared, ok := value.JSON(val); ok && s.readOnly {
		return shared, true, nil
	}
	if p := s.ev.prog.limits.rendered(val, t.x.text); p != nil {
		return nil, false, p
	}
	plain, err := s.ev.plain(val, value.Place{Schema: t.x.into, KeepsBytes: s.readOnly})
	switch {
	case errors.Is(err, value.ErrNoValue):
		return nil, false, nil
	case errors.Is(err, value.ErrTooManyParts):
		return nil, false, s.ev.prog.limits.tooLarge()
	case errors.Is(err, run.ErrMemory), errors.Is(err, run.ErrSharedMemory):
		return nil, false, s.ev.refusal(err)
	case err != nil:
		return nil, false, failure("%s: %s", shorten(t.x.text), s.ev.misplaced(err))
	}
	return plain, true, nil
}

// misplaced is what a message says of a value that cannot be written where it should.
func (e *Evaluation) misplaced(err error) string {
	for _, wrong := range []error{value.ErrTextForBytes, value.ErrBytesForText, value.ErrBytesInText} {
		if e.prog.secrets && errors.Is(err, wrong) {
			return wrong.Error() // the keys on the way may be computed
		}
	}
	return e.reason(err)
}

// plain makes plain JSON of a value, as far as there is room for it in the object that
// is rendered, and memory.
func (e *Evaluation) plain(val ref.Val, into value.Place) (any, error) {
	room := e.room
	left := min(room, e.budget.Memory.Parts())
	scarce := left < room
	before := left
	plain, err := value.ToJSONWithin(val, into, &left)
	parts := before - left
	e.room = room - parts
	if errors.Is(err, value.ErrTooManyParts) && scarce {
		return nil, run.ErrMemory
	}
	if err != nil || parts == 1 {
		return plain, err //nolint:wrapcheck // The caller names the expression.
	}
	bytes := int64(parts) * run.PartBytes
	if err := e.budget.Memory.Take(bytes); err != nil {
		return nil, err //nolint:wrapcheck // As above.
	}
	e.drafted += bytes
	return plain, nil
}

// textTemplate is a string with expressions between text.
type textTemplate struct{ parts []textPart }

type textPart struct {
	text string
	x    *expression // nil: text
}

func (t textTemplate) render(s *scope) (any, bool, *problem) {
	text, p := t.text(s)
	return text, p == nil, p
}

func (t textTemplate) text(s *scope) (string, *problem) {
	var b strings.Builder
	for _, part := range t.parts {
		if part.x == nil {
			b.WriteString(part.text)
			continue
		}
		val, p := part.x.eval(s)
		if p != nil {
			return "", p
		}
		text, err := value.ToText(val)
		if err != nil {
			return "", failure("%s: %s", shorten(part.x.text), s.ev.misplaced(err))
		}
		s.ev.drafted += s.ev.budget.Memory.Held()
		b.WriteString(text)
		if b.Len() > s.ev.prog.limits.ObjectBytes {
			return "", s.ev.prog.limits.tooLarge()
		}
	}
	if p := s.ev.draft(int64(b.Len())); p != nil {
		return "", p
	}
	return b.String(), nil
}

// mapTemplate is a mapping with an expression somewhere in it.
type mapTemplate struct{ entries []entry }

type entry struct {
	name  string
	key   *textTemplate // for a key with expressions
	value template
}

func (t mapTemplate) render(s *scope) (any, bool, *problem) {
	out, own := make(map[string]any, len(t.entries)), false
	for i := range t.entries {
		e := &t.entries[i]
		name, p := e.keyOf(s)
		if p != nil {
			return nil, false, p.under("the key " + e.name)
		}
		val, ok, p := e.value.render(s)
		if p != nil {
			return nil, false, p.under(e.shownKey(name, s))
		}
		if !ok || val == nil {
			continue
		}
		if _, twice := out[name]; twice && e.key != nil {
			return nil, false, failure("two keys are %s", s.ev.shown(name))
		}
		out[name], own = val, own || isOwn(val)
	}
	if own {
		return value.Made(out), true, nil
	}
	return out, true, nil
}

// isOwn says whether what was rendered to be read again is a value of CEL's own.
func isOwn(val any) bool {
	_, own := val.(ref.Val)
	return own
}

func (e *entry) keyOf(s *scope) (string, *problem) {
	if e.key == nil {
		return e.name, nil
	}
	return e.key.text(s)
}

// shownKey is a key in the path of a message.
func (e *entry) shownKey(name string, s *scope) string {
	if e.key != nil && s.ev.prog.secrets {
		return "the key " + e.name
	}
	return name
}

// listTemplate is a list with an expression somewhere in it.
type listTemplate struct{ items []listItem }

type listItem struct {
	value  template
	spread *expression // for ${...list}
}

func (t listTemplate) render(s *scope) (any, bool, *problem) {
	out := make([]any, 0, len(t.items))
	for i, item := range t.items {
		if item.spread != nil {
			more, p := item.spliced(s)
			if p != nil {
				return nil, false, p.under(fmt.Sprintf("[%d]", i))
			}
			out = append(out, more...)
			if p := s.ev.prog.limits.list(len(out)); p != nil {
				return nil, false, p
			}
			continue
		}
		val, ok, p := item.value.render(s)
		if p != nil {
			return nil, false, p.under(fmt.Sprintf("[%d]", i))
		}
		if ok {
			out = append(out, val)
		}
	}
	if slices.ContainsFunc(out, isOwn) {
		return value.MadeList(out), true, nil
	}
	return out, true, nil
}

// spliced are the items that ${...list} stands for; null and optional.none()
// stand for none.
func (i listItem) spliced(s *scope) ([]any, *problem) {
	val, ok, p := exprTemplate{x: i.spread}.render(s)
	if p != nil || !ok || val == nil {
		return nil, p
	}
	list, isList := value.Parts(val)
	if !isList {
		return nil, failure("${...%s} needs a list", shorten(i.spread.text))
	}
	return list, nil
}
