package parentstatus

import (
	"kanon.dev/kanon/rules/naming"
	"kanon.dev/kanon/rules/program/template"
)

// maxConditionMessage is the limit of metav1.Condition for a message, in bytes.
const maxConditionMessage = 32768

// ConditionTemplate is one of spec.conditions.
type ConditionTemplate struct {
	Type string
	// Path is its position, for messages.
	Path   string
	Status template.Template
	// Reason and Message are nil if they were left out.
	Reason, Message template.Template
}

// Condition is one condition that the rule sets on its parent.
type Condition struct {
	Type    string
	Status  string // True, False or Unknown
	Reason  string
	Message string
	// Keep is true if the condition waits or failed: the parent keeps its condition of that type, and the other fields
	// are empty.
	Keep bool
}

// Render renders a condition. Paths of problems are below the condition.
func (c *ConditionTemplate) Render(s template.Scope) (out Condition, p *template.Problem) {
	out = Condition{Type: c.Type, Reason: c.Type}
	if out.Status, p = template.ConditionStatusOf(c.Status, s); p != nil {
		return out, p.Under("status")
	}
	if c.Reason != nil {
		if out.Reason, p = template.ReasonOf(c.Reason, s, naming.MaxConditionReason); p != nil {
			return out, p.Under("reason")
		}
	}
	if c.Message == nil {
		return out, nil
	}
	if out.Message, p = template.TextOf(c.Message, s); p != nil {
		return out, p.Under("message")
	}
	if len(out.Message) > maxConditionMessage {
		return out, template.Failure("has %d bytes, and a condition takes %d", len(out.Message), maxConditionMessage).Under("message")
	}
	return out, nil
}
