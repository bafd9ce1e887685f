package language

func kindSchema() Fields {
	return append(Fields{
		{Name: "scope", Type: words("Namespaced", "Cluster"), Default: "Namespaced", Doc: "Whether objects of the kind are in namespaces."},
		{Name: "plural", Type: text(), Doc: "The name in paths. Default: the kind in lower case, in the plural."},
		{Name: "singular", Type: text(), Doc: "The name for kubectl. Default: the kind in lower case."},
		{Name: "shortNames", Type: list(text()), Doc: "Short names for kubectl."},
		{Name: "categories", Type: list(text()), Doc: "Categories for kubectl, such as `all`."},
		{Name: "description", Type: text(), Doc: "What the kind is for, as `kubectl explain` shows it."},
		{Name: "adopt", Type: flag(), Default: "false", Doc: "`true`: Kanon takes over a CustomResourceDefinition of the kind that it did not create."},
		{Name: "versions", Type: list(mapping(kindVersion())), Doc: "All versions of the kind, if it has several. Each has the fields below."},
	}, schemaOfVersion()...)
}

func kindVersion() Fields {
	return append(Fields{
		{Name: "name", Required: true, Type: text(), Doc: "The version, such as `v1`."},
		{Name: "served", Type: flag(), Default: "true", Doc: "`false`: the API server does not serve it."},
		{Name: "stored", Type: flag(), Default: "false", Doc: "`true`: objects are stored in it. One version is."},
		{Name: "deprecated", Type: text(), Doc: "The warning that the API server sends to users of the version."},
	}, schemaOfVersion()...)
}

func schemaOfVersion() Fields {
	return Fields{
		{Name: "spec", Type: shortSchema(), Doc: "The fields of spec: each a type with markers, or a mapping of fields."},
		{Name: "status", Type: shortSchema(), Doc: "The types of fields of status, where more is to be known of them than that `spec.status` sets them."},
		{Name: "types", Type: shortSchema(), Doc: "Types that several fields have, by their names."},
		{Name: "validations", Type: list(mapping(Validation())), Doc: "Expressions in CEL that must be true of spec, or of the whole object."},
		{Name: "columns", Type: list(mapping(Column())), Doc: "Columns that `kubectl get` shows."},
		{Name: "scale", Type: mapping(Scale()), Doc: "Fields for `kubectl scale` and HorizontalPodAutoscalers."},
	}
}

// Validation has the fields of an item of validations.
func Validation() Fields {
	return Fields{
		{Name: "rule", Required: true, Type: text(), Doc: "The expression. `self` is spec, unless `self` says otherwise."},
		{Name: "self", Type: words("Spec", "Object"), Default: "Spec", Doc: "What `self` is. `Object`: the whole object, of whose metadata an expression can read the name."},
		{Name: "message", Type: text(), Doc: "What the API server says if it is not true."},
		{Name: "messageExpression", Type: text(), Doc: "An expression in CEL that gives the message."},
		{Name: "reason", Type: words("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"), Doc: "The reason that the API server gives."},
		{Name: "path", Type: text(), Doc: "The field that the message names, such as `.ports`, as `self` has it."},
		{Name: "optionalOldSelf", Type: flag(), Default: "false", Doc: "`true`: a rule that reads `oldSelf` is checked when an object is created, too. `oldSelf` is an optional then."},
	}
}

// Column has the fields of an item of columns.
func Column() Fields {
	return Fields{
		{Name: "name", Required: true, Type: text(), Doc: "The heading."},
		{Name: "value", Required: true, Type: text(), Doc: "The path of the field, such as `.status.url`."},
		{Name: "type", Type: words("string", "integer", "number", "boolean", "date"), Doc: "The type of the values. Default: that of the field."},
		{Name: "format", Type: words("int32", "int64", "float", "double", "byte", "date", "date-time", "password"), Doc: "The format of the values."},
		{Name: "description", Type: text(), Doc: "What the column has."},
		{Name: "priority", Type: number(0), Default: "0", Doc: "More than 0: only `kubectl get -o wide` shows the column."},
	}
}

// Scale has the fields of scale.
func Scale() Fields {
	return Fields{
		{Name: "specReplicas", Required: true, Type: text(), Doc: "The path of the number that is asked for, such as `.spec.replicas`."},
		{Name: "statusReplicas", Required: true, Type: text(), Doc: "The path of the number that there is, such as `.status.replicas`."},
		{Name: "labelSelector", Type: text(), Doc: "The path of the selector of the Pods, as text, such as `.status.selector`."},
	}
}
