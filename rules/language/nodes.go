package language

func lookup() Fields {
	return Fields{
		{Name: "id", Required: true, Type: text(), Doc: "Its name in expressions: `lookups.<id>`."},
		{Name: "forEach", Type: dimensions(), Doc: "One lookup for each item, which gives a list of the objects found."},
		{Name: "variables", Type: variables(), Doc: "Variables that can use the item."},
		{Name: "apiVersion", Required: true, Type: text(), Doc: "Group and version of the kind."},
		{Name: "kind", Required: true, Type: text(), Doc: "The kind of the objects that are read."},
		{Name: "name", Type: textOrExpression(), Doc: "The name of one object."},
		{Name: "selector", Type: openSelector(), Doc: "Instead of `name`: the labels of several objects, which give a list sorted by namespace and name."},
		{Name: "namespace", Type: textOrExpression(), Doc: "The namespace. Default: the parent's. `\"*\"` with `selector` means all."},
		{Name: "optional", Type: flag(), Default: "false", Doc: "`true`: the object, or its kind, may be missing."},
		{Name: "when", Type: condition(), Doc: "`false`: the lookup is skipped."},
	}
}

func child() Fields {
	return Fields{
		{Name: "id", Required: true, Type: text(), Doc: "Its name in expressions: `children.<id>`."},
		{Name: "optional", Type: flag(), Default: "false", Doc: "`true`: skipped while the cluster does not have its kind."},
		{Name: "when", Type: condition(), Doc: "`false`: the object does not exist."},
		{Name: "forEach", Type: or(dimensions(), mapping(SameAs())), Doc: "One object for each item."},
		{Name: "variables", Type: variables(), Doc: "Variables that can use the item."},
		{Name: "dependsOn", Type: list(text()), Doc: "Ids of children that must be ready first."},
		{Name: "readyWhen", Type: condition(), Doc: "When the object counts as ready. `self` is the live object. Default: what its kind's status says."},
		{Name: "createWhen", Type: condition(), Doc: "`false`: a missing object is not created."},
		{Name: "updateWhen", Type: condition(), Doc: "`false`: the object is not changed."},
		{Name: "recreateWhen", Type: condition(), Doc: "`true`: the object is deleted and recreated."},
		{Name: "updatePolicy", Type: words("Apply", "ApplyOrRecreate", "Recreate", "CreateOnly"), Default: "Apply", Doc: "How the object is changed: in place, by recreating it, or never."},
		{Name: "recreatePropagation", Type: words("Foreground", "Background", "Orphan"), Default: "Foreground", Doc: "What happens to the objects that it owns when it is recreated: they are deleted before, or after, or stay."},
		{Name: "deletionPolicy", Type: or(end(), mapping(Deletion())), Default: "Delete", Doc: "`Orphan`: the object stays when the rule no longer renders it, or when the parent is deleted."},
		{Name: "adopt", Type: flag(), Default: "false", Doc: "`true`: take over an existing object that nobody owns."},
		{Name: "ignore", Type: list(or(text(), mapping(Ignore()))), Doc: "Paths of fields that Kanon does not write after the object is created."},
		{Name: "rollout", Type: mapping(Rollout()), Doc: "How many objects of a forEach are updated at the same time."},
		{Name: "template", Required: true, Type: template(), Doc: "The object."},
	}
}

func patch() Fields {
	return Fields{
		{Name: "id", Required: true, Type: text(), Doc: "The name of the patch: letters, digits, `-` and `_`."},
		{Name: "optional", Type: flag(), Default: "false", Doc: "`true`: skipped while the cluster does not have the target's kind."},
		{Name: "when", Type: condition(), Doc: "`false`: the patch sets nothing, and what it has set is restored."},
		{Name: "forEach", Type: dimensions(), Doc: "One patch for each item."},
		{Name: "variables", Type: variables(), Doc: "Variables that can use the item."},
		{Name: "target", Type: mapping(target()), Doc: "The objects to patch. Default: the parent itself."},
		{Name: "conflict", Type: words("Override", "Refuse"), Default: "Override", Doc: "`Refuse`: take no field that another manager has with another value."},
		{Name: "template", Required: true, Type: template(), Doc: "The fields to set, without `apiVersion`, `kind` and `metadata.name`."},
	}
}

func target() Fields {
	return Fields{
		{Name: "apiVersion", Required: true, Type: text(), Doc: "Group and version of the kind."},
		{Name: "kind", Required: true, Type: text(), Doc: "The kind of the objects to patch."},
		{Name: "name", Type: textOrExpression(), Doc: "The name of one object."},
		{Name: "selector", Type: openSelector(), Doc: "Instead of `name`: the labels of several objects. `{}` selects all."},
		{Name: "namespace", Type: textOrExpression(), Doc: "The namespace. Default: the parent's. `\"*\"` with `selector` means all."},
	}
}

// openSelector is a label selector that may have expressions, or be one.
func openSelector() Type {
	return or(mapping(openSelectorFields()), Type{Expressions: Required, Gives: "map"})
}

// openSelectorFields are those of a label selector that may have expressions.
func openSelectorFields() Fields {
	all := Selector()
	all.Field("matchLabels").Type = or(Type{Form: Texts, Expressions: Allowed}, Type{Expressions: Required, Gives: "map"})
	all.Field("matchExpressions").Type = or(list(or(mapping(openRequirementFields()), Type{Expressions: Required, Gives: "map"})), Type{Expressions: Required, Gives: "list"})
	return all
}

// openRequirementFields are those of an item of matchExpressions that may have expressions.
func openRequirementFields() Fields {
	all := Requirement()
	all.Field("key").Type = textOrExpression()
	all.Field("operator").Type.Expressions = Allowed
	all.Field("values").Type = or(list(textOrExpression()), Type{Expressions: Required, Gives: "list"})
	return all
}

func dimensions() Type { return list(mapping(Dimension())) }

// Dimension has the fields of an item of forEach.
func Dimension() Fields {
	return Fields{
		{Name: "name", Required: true, Type: text(), Doc: "The name of the item in expressions."},
		{Name: "in", Required: true, Type: or(list(anything()), or(template(), Type{Expressions: Required, Gives: "list or map"})), Doc: "The list, or the map, whose items these are. Items of a map have `key` and `value`."},
	}
}

// SameAs has the field of a forEach that has the items of another child.
func SameAs() Fields {
	return Fields{
		{Name: "sameAs", Required: true, Type: text(), Doc: "The id of the child whose items this one has too. `each.<id>` is the object of the same item."},
	}
}

// end is what happens to a child that is no longer wanted.
func end() Type {
	return Type{Words: []string{"Delete", "Orphan"}, Expressions: Allowed, Gives: "string"}
}

// Deletion has the fields of a deletionPolicy for each case.
func Deletion() Fields {
	return Fields{
		{Name: "whenPruned", Type: end(), Default: "Delete", Doc: "What happens to the object when the rule no longer renders it."},
		{Name: "whenDeleted", Type: end(), Default: "Delete", Doc: "What happens to the object when the parent is deleted."},
	}
}

// Ignore has the fields of an item of ignore that has a condition.
func Ignore() Fields {
	return Fields{
		{Name: "path", Required: true, Type: text(), Doc: "The path of the field, such as `spec.replicas`."},
		{Name: "when", Required: true, Type: condition(), Doc: "The field is left to others while this is true."},
	}
}

// Rollout has the fields of rollout.
func Rollout() Fields {
	return Fields{
		{Name: "maxUnavailable", Type: or(number(1), Type{Expressions: Allowed, Gives: "int or string", Pattern: `^[+]?0*([1-9][0-9]?|100)%$`}), Default: "1", Doc: "How many objects may be not ready at the same time: a number, or a percentage such as `25%`."},
		{Name: "order", Type: words("Parallel", "OrderedReady"), Default: "Parallel", Doc: "`OrderedReady`: items are created in the order of the list, each once those before it are ready. Updates go from the last item to the first."},
		{Name: "partition", Type: number(0), Default: "0", Doc: "Only items from this index on are updated, counted from 0."},
	}
}

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
