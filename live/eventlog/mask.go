package eventlog

import (
	"context"
	"time"

	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/live/installed"
	"kanon.dev/kanon/redact"
	"kanon.dev/kanon/redact/clustersecrets"
	"kanon.dev/kanon/rules/scanner"
)

// Mask hides values of Secrets in Events of rules that have to do with Secrets: a message of spec.events may contain
// one. It reads Secrets only for such rules.
type Mask struct {
	Client dynamic.Interface
	Rules  *installed.Rules

	values redact.Values
	// read is when values were read. partly is true if some Secrets could not be read.
	read   time.Time
	partly bool
}

// Hide returns an Event without values of Secrets. If the user may not read the Secrets, it hides all of a message that
// may contain a value.
func (m *Mask) Hide(ctx context.Context, e Event) Event {
	rule, err := m.Rules.Find(e.Rule)
	isKnown := err == nil && rule.Decoded != nil
	if e.Rule == "" || isKnown && !rule.Decoded.HasSecrets() {
		return e
	}
	if m.values == nil || e.Last.After(m.read) {
		values, err := clustersecrets.Values(ctx, m.Client, e.Object.Namespace)
		m.values, m.read, m.partly = values, time.Now(), err != nil
	}
	if m.partly && isKnown && emits(rule, e.Reason) {
		e.Message = redact.Hidden + ": it may have the value of a Secret, and you may not list Secrets"
		return e
	}
	e.Message = m.values.Text(e.Message)
	return e
}

// emits reports whether an Event with this reason may come from spec.events.
func emits(rule *installed.Rule, reason string) bool {
	for _, event := range rule.Decoded.Events {
		if text, ok := event.Reason.Text(); !ok || text == reason || scanner.HasExpression(text) {
			return true
		}
	}
	return false
}
