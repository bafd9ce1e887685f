package rules

import (
	"fmt"
	"time"

	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

const (
	// minRequeue is the shortest requeueAfter: times in expressions are whole seconds.
	minRequeue = time.Second
	// minPause is the shortest minInterval, in which no reconcile could end.
	minPause = time.Millisecond
)

// durationSpec is spec.requeueAfter or spec.minInterval.
type durationSpec struct {
	// field is its name, and least the shortest that it may say.
	field string
	least time.Duration
	// node is what it is computed from, nil where it is written out or could not
	// be read.
	node *yamltree.Node
	// constant is what is written out.
	constant time.Duration
}

func (d *decoder) duration(n *yamltree.Node, field string, least time.Duration) *durationSpec {
	spec := &durationSpec{field: field, least: least}
	text, ok := n.Text()
	switch {
	case ok && hasExpression(text):
		spec.node = n
		return spec
	case !ok:
		hint := `write it as text, such as "10m"`
		if seconds, isInt := n.Value.(int64); isInt && seconds > 0 {
			hint = fmt.Sprintf("write %ds for seconds", seconds)
		}
		d.report(n, diagnostic.CodeDuration, "spec.%s must be a duration, or an expression that gives one, and is %s", field, n.What()).WithHint("%s", hint)
		return spec
	}
	constant, err := time.ParseDuration(text)
	switch {
	case err != nil:
		d.report(n, diagnostic.CodeDuration, "spec.%s must be a duration such as 90s, 10m or 1h30m, and is %q", field, text)
	case constant < least:
		d.report(n, diagnostic.CodeDuration, "spec.%s must be at least %s, and is %s", field, least, constant)
	}
	spec.constant = constant
	return spec
}

// compiledDuration is spec.requeueAfter or spec.minInterval.
type compiledDuration struct {
	durationSpec
	value template
}

func (c *compiler) duration(spec *durationSpec, all *uses) *compiledDuration {
	if spec == nil {
		return nil
	}
	out := &compiledDuration{durationSpec: *spec}
	if spec.node != nil {
		sc := c.ruleScope("spec." + spec.field)
		sc.mayMove = true // as in t - now
		out.value = c.textField(spec.node, sc, all, "a duration, or text such as 10m",
			types.DurationKind, types.StringKind, types.NullTypeKind)
		c.try(spec.node, out.value, sc.place, func(s *scope) *problem {
			_, p := out.render(s)
			return p
		})
	}
	out.node = nil
	return out
}

// duration is what requeueAfter or minInterval says; null and optional.none() say
// nothing.
func (e *Evaluation) duration(d *compiledDuration, out *Outcome) time.Duration {
	switch {
	case d == nil:
		return 0
	case !d.computed():
		return d.constant
	}
	says, p := d.render(&e.base)
	if p != nil {
		out.note(p.under(d.field))
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
	case says < d.least: // by how much can change with the clock, and a message must not
		return 0, failure("must be at least %s, and is shorter; give null where there should be none", d.least)
	}
	return says, nil
}

// computed says whether an expression says how long it is.
func (d *compiledDuration) computed() bool { return d != nil && d.value != nil }
