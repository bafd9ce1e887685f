package syntax

import (
	"slices"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/yamltree"
)

// Condition is one item of spec.conditions. The nodes are nil if they are missing or have a mistake.
type Condition struct {
	Type    string              `rule:"type,conditionType"`
	Pos     diagnostic.Position `rule:"type"`
	Index   int
	Status  *yamltree.Node `rule:"status"`
	Reason  *yamltree.Node `rule:"reason,reason"`
	Message *yamltree.Node `rule:"message"`
	Gaps    Gaps
}

// IsConditionStatus reports whether text is a status that a condition can have.
func IsConditionStatus(s string) bool {
	return slices.Contains(language.At("spec.conditions").Words("status"), s)
}

// Event is one item of spec.events. The nodes are nil if they are missing or have a mistake.
type Event struct {
	Index   int
	Type    string         `rule:"type"`
	When    *yamltree.Node `rule:"when"`
	Reason  *yamltree.Node `rule:"reason,eventReason"`
	Message *yamltree.Node `rule:"message"`
	Gaps    Gaps
}

func (e *Event) complete(*decoder, *yamltree.Node, string) {
	if e.Type == "" {
		e.Type = "Normal"
	}
}
