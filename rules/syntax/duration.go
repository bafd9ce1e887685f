package syntax

import (
	"fmt"
	"time"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/yamltree"
)

const (
	// minRequeue is the shortest requeueAfter: times in expressions are whole seconds.
	minRequeue = time.Second
	// minPause is the shortest minInterval. No reconcile is faster.
	minPause = time.Millisecond
	// minTimeout is the shortest spec.finalize.timeout.
	minTimeout = time.Second
)

// Duration is spec.requeueAfter, spec.minInterval or spec.finalize.timeout.
type Duration struct {
	// Field is its path below spec, and Least the shortest value that is allowed.
	Field string
	Least time.Duration
	// Node is the expression that computes it. It is nil for a constant, or after a finding.
	Node *yamltree.Node
	// Constant is the value if there is no expression.
	Constant time.Duration
}

func (d *decoder) duration(n *yamltree.Node, field string, least time.Duration) *Duration {
	spec := &Duration{Field: field, Least: least}
	text, ok := n.Text()
	switch {
	case ok && scanner.HasExpression(text):
		spec.Node = n
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
	spec.Constant = constant
	return spec
}
