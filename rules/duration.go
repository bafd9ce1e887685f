package rules

import (
	"time"

	"kanon.dev/kanon/rules/syntax"
)

// compiledDuration is spec.requeueAfter or spec.minInterval.
type compiledDuration struct {
	syntax.Duration
	value template
}

// duration is what requeueAfter or minInterval says; null and optional.none() say
// nothing.
func (e *Evaluation) duration(d *compiledDuration, out *Outcome) time.Duration {
	switch {
	case d == nil:
		return 0
	case !d.computed():
		return d.Constant
	}
	says, p := d.render(&e.base)
	if p != nil {
		out.note(p.under(d.Field))
	}
	return says
}

func (d *compiledDuration) render(s *scope) (time.Duration, *problem) {
	val, ok, p := d.value.render(s)
	if p != nil || !ok || val == nil {
		return 0, p
	}
	text, isText := val.(string)
	if !isText {
		return 0, failure("must be a duration, or text such as 10m, and is %s", jsonType(val))
	}
	says, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, failure("must be a duration such as 90s, 10m or 1h30m, and is %s", s.ev.shown(text))
	case says < d.Least: // by how much can change with the clock, and a message must not
		return 0, failure("must be at least %s, and is shorter; give null where there should be none", d.Least)
	}
	return says, nil
}

// computed says whether an expression says how long it is.
func (d *compiledDuration) computed() bool { return d != nil && d.value != nil }
