package language

// Condition has the fields of an item of spec.conditions.
func Condition() Fields { return Spec().Field("conditions").Type.Items.Fields }

// Event has the fields of an item of spec.events.
func Event() Fields { return Spec().Field("events").Type.Items.Fields }

func conditions() Fields {
	return Fields{
		{Name: "type", Required: true, Type: text(), Doc: "The type of the condition, unique in the rule."},
		{Name: "status", Required: true, Type: or(Type{Words: []string{"True", "False", "Unknown"}, Expressions: Allowed, Gives: "bool or string"}, flag()), Doc: "An expression that gives true or false, or the text `True`, `False` or `Unknown`."},
		{Name: "reason", Type: textOrExpression(), Doc: "One word in CamelCase. Default: the type."},
		{Name: "message", Type: textOrExpression(), Doc: "A sentence for people."},
	}
}

func events() Fields {
	return Fields{
		{Name: "when", Type: condition(), Default: "${true}", Doc: "The Event is emitted when this becomes true."},
		{Name: "type", Type: words("Normal", "Warning"), Default: "Normal", Doc: "The type of the Event."},
		{Name: "reason", Required: true, Type: textOrExpression(), Doc: "One word in CamelCase."},
		{Name: "message", Required: true, Type: textOrExpression(), Doc: "A sentence for people. It can read `status`, as rendered."},
	}
}
