package language

import (
	"strings"
	"sync"
)

// Form is the shape of a value in YAML.
type Form uint8

const (
	// Text is a string.
	Text Form = iota
	// Boolean is true or false.
	Boolean
	// Number is a whole number.
	Number
	// Mapping is a mapping with certain fields.
	Mapping
	// Texts is a mapping of any names to strings, such as labels.
	Texts
	// List is a list of items of one type.
	List
	// Object is a mapping with any content, expressions included, such as a template.
	Object
	// Anything is any YAML, expressions included.
	Anything
	// ShortSchema is a mapping of fields, or of types, in the short form of a schema: each a type with markers, or a mapping.
	ShortSchema
)

// Expressions says whether a value may be, or contain, ${…}.
type Expressions uint8

const (
	// None is for values that are read before there is a parent.
	None Expressions = iota
	// Allowed is for a value that is written out, or computed.
	Allowed
	// Required is for a value that is one expression.
	Required
)

// Type is the type of a field. The zero value is text without expressions.
type Type struct {
	Form Form
	// Expressions is for Text, and for any other type whose value an expression may compute.
	Expressions Expressions
	// Gives is what an expression must give, if one is allowed.
	Gives string
	// Words are the only texts that are allowed, besides an expression. Empty: any text.
	Words []string
	// Pattern matches the texts that are allowed, besides an expression. Empty: any text.
	Pattern string
	// Least is the smallest Number.
	Least int
	// Fields are those of a Mapping.
	Fields Fields
	// Items is the type of the items of a List.
	Items *Type
	// Or is another form that a value may have.
	Or *Type
}

// Field is one field of a mapping.
type Field struct {
	Name string
	// Doc explains it, in Markdown. The first sentence can be shown alone.
	Doc      string
	Type     Type
	Required bool
	// Default is the value of a field that is left out, as a rule writes it. Empty: there is none, or Doc explains it.
	Default string
}

// Description is Doc, followed by the default.
func (f *Field) Description() string {
	if f.Default == "" {
		return f.Doc
	}
	return f.Doc + " Default: `" + f.Default + "`."
}

// Fields are the fields of a mapping, in the order in which kanon fmt writes them.
type Fields []Field

// Field is the field of a name; nil if there is none.
func (f Fields) Field(name string) *Field {
	for i := range f {
		if f[i].Name == name {
			return &f[i]
		}
	}
	return nil
}

// Words are the texts that a field allows.
func (f Fields) Words(name string) []string { return f.Field(name).Type.Words }

// Names are the names of all fields.
func (f Fields) Names() []string {
	names := make([]string, len(f))
	for i := range f {
		names[i] = f[i].Name
	}
	return names
}

// Forms are the type and its alternatives.
func (t *Type) Forms() []*Type {
	if t == nil {
		return nil
	}
	return append([]*Type{t}, t.Or.Forms()...)
}

// Below is the type of a field of a mapping; for an empty name, that of the items of a list. It is nil if anything is
// allowed.
func (t *Type) Below(name string) *Type {
	for _, form := range t.Forms() {
		switch {
		case form.Form == List && name == "":
			return form.Items
		case form.Form == Mapping && form.Fields.Field(name) != nil:
			return &form.Fields.Field(name).Type
		}
	}
	return nil
}

// text, flag and the others are short for types that many fields have.
func text() Type                 { return Type{} }
func words(all ...string) Type   { return Type{Words: all} }
func flag() Type                 { return Type{Form: Boolean} }
func number(least int) Type      { return Type{Form: Number, Least: least} }
func mapping(f Fields) Type      { return Type{Form: Mapping, Fields: f} }
func list(items Type) Type       { return Type{Form: List, Items: &items} }
func template() Type             { return Type{Form: Object} }
func shortSchema() Type          { return Type{Form: ShortSchema} }
func anything() Type             { return Type{Form: Anything, Expressions: Allowed} }
func textOrExpression() Type     { return Type{Expressions: Allowed, Gives: "string"} }
func condition() Type            { return Type{Expressions: Required, Gives: "bool"} }
func or(first, second Type) Type { first.Or = &second; return first }

func duration() Type {
	return Type{Expressions: Allowed, Gives: "duration", Pattern: `^[+]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`}
}

// The version of the language, and the kind of a document.
const (
	APIVersion = "kanon.dev/v1alpha1"
	Kind       = "Rule"
)

// Document is the type of a whole rule.
func Document() *Type { return document() }

// At has the fields of the mappings at a path, such as spec.children.
func At(path string) Fields {
	t := Document()
	for name := range strings.SplitSeq(path, ".") {
		t = t.Below(name)
		if items := t.Below(""); items != nil {
			t = items
		}
	}
	return t.Fields
}

var document = sync.OnceValue(func() *Type { //nolint:gochecknoglobals // made once, and never changed
	t := mapping(Fields{
		{Name: "apiVersion", Required: true, Type: words(APIVersion), Doc: "The version of the rule language."},
		{Name: "kind", Required: true, Type: words(Kind), Doc: "`Rule`."},
		{Name: "metadata", Required: true, Type: mapping(metadata()), Doc: "The name of the rule, and what people and tools note about it."},
		{Name: "spec", Required: true, Type: mapping(spec()), Doc: "What the rule does for each object of its parent kind."},
	})
	return &t
})

func metadata() Fields {
	return Fields{
		{Name: "name", Required: true, Type: text(), Doc: "The name of the rule, unique in its namespace over all sources."},
		{Name: "namespace", Type: text(), Doc: "The namespace of the rule. Default: Kanon's own, `kanon-system`."},
		{Name: "labels", Type: Type{Form: Texts}, Doc: "Labels of the rule, for people and tools."},
		{Name: "annotations", Type: Type{Form: Texts, Expressions: Allowed}, Doc: "Annotations of the rule, for people and tools. `kanon.dev/confirm-prune` confirms deletions that are blocked by the prune guard."},
	}
}

func spec() Fields {
	return Fields{
		{Name: "parent", Required: true, Type: mapping(parent()), Doc: "The objects that the rule is for."},
		{Name: "serviceAccountName", Type: text(), Doc: "The ServiceAccount, in the rule's namespace, with whose rights Kanon reads and writes for this rule. Default: Kanon's own."},
		{Name: "allowPrivileged", Type: flag(), Default: "false", Doc: "`true`: the rule may write objects that grant rights, such as roles. Only rules in Kanon's own namespace and in files may say so."},
		{Name: "variables", Type: variables(), Doc: "Values that several templates use, computed when they are needed."},
		{Name: "lookups", Type: list(mapping(lookup())), Doc: "Objects that the rule only reads."},
		{Name: "children", Type: list(mapping(child())), Doc: "Objects that the rule creates for each parent, and keeps as rendered."},
		{Name: "patches", Type: list(mapping(patch())), Doc: "Fields that the rule sets on objects that others create."},
		{Name: "status", Type: or(template(), Type{Expressions: Required, Gives: "map"}), Doc: "The fields of the parent's status, which Kanon keeps as rendered. A leaf that waits keeps its last value."},
		{Name: "conditions", Type: list(mapping(conditions())), Doc: "Conditions of the parent, besides Kanon's own Ready, Reconciling and Stalled."},
		{Name: "conditionPrefix", Type: text(), Doc: "A word before Kanon's own conditions: with `Web` they are WebReady, WebReconciling and WebStalled."},
		{Name: "events", Type: list(mapping(events())), Doc: "Events of the parent, emitted when something begins to be true."},
		{Name: "finalize", Type: mapping(finalize()), Doc: "What happens while the parent is being deleted. It stays until this is done."},
		{Name: "requeueAfter", Type: duration(), Doc: "The time after which each parent is evaluated again, such as `1h`."},
		{Name: "minInterval", Type: duration(), Doc: "The least time between two evaluations of one parent, such as `5s`."},
		{Name: "deleteWhen", Type: condition(), Doc: "Kanon deletes the parent once this is true."},
		{Name: "pruneLimit", Type: number(0), Default: "10", Doc: "How many objects a new revision of the rule may delete without confirmation."},
		{Name: "onRuleDeletion", Type: words("Orphan", "Delete"), Default: "Orphan", Doc: "What happens to the children when the rule itself is deleted."},
		{Name: "suspend", Type: flag(), Default: "false", Doc: "`true`: Kanon changes nothing for this rule."},
	}
}

func parent() Fields {
	return Fields{
		{Name: "apiVersion", Required: true, Type: text(), Doc: "Group and version of the kind, such as `shop.example.com/v1`."},
		{Name: "kind", Required: true, Type: text(), Doc: "The kind of the objects that the rule is for: any that the API server has."},
		{Name: "schema", Type: mapping(kindSchema()), Doc: "The schema of the kind, in a short form. Kanon makes the kind's CustomResourceDefinition of it."},
		{Name: "selector", Type: mapping(Selector()), Doc: "The labels that a parent must have. The API server evaluates it."},
		{Name: "namespaces", Type: list(text()), Doc: "Names of the parents' namespaces. Default: all."},
		{Name: "namespaceSelector", Type: mapping(Selector()), Doc: "The labels that a parent's Namespace must have. A change of its labels takes effect."},
		{Name: "when", Type: condition(), Doc: "The rule is for the parents for which this is true."},
	}
}

// Selector has the fields of a label selector without expressions.
func Selector() Fields {
	return Fields{
		{Name: "matchLabels", Type: Type{Form: Texts}, Doc: "Labels with their values."},
		{Name: "matchExpressions", Type: list(mapping(Requirement())), Doc: "Requirements of labels. All of them must hold."},
	}
}

// Requirement has the fields of an item of matchExpressions.
func Requirement() Fields {
	return Fields{
		{Name: "key", Required: true, Type: text(), Doc: "The label."},
		{Name: "operator", Required: true, Type: words("In", "NotIn", "Exists", "DoesNotExist"), Doc: "How the label's value compares with `values`."},
		{Name: "values", Type: list(text()), Doc: "The values, for `In` and `NotIn`."},
	}
}

func variables() Type {
	return list(mapping(Variable()))
}

// Variable has the fields of an item of variables.
func Variable() Fields {
	return Fields{
		{Name: "name", Required: true, Type: text(), Doc: "Its name in expressions: `variables.<name>`."},
		{Name: "value", Required: true, Type: anything(), Doc: "Its value: an expression, or any YAML that has some."},
	}
}

func finalize() Fields {
	return Fields{
		{Name: "children", Type: list(mapping(child())), Doc: "Objects that are created while the parent is being deleted, in the form of `spec.children`."},
		{Name: "until", Type: condition(), Doc: "The children, and then the parent, are deleted once this is true. Default: once all of `finalize.children` are ready."},
		{Name: "timeout", Type: duration(), Doc: "If it takes longer, the parent's condition reports `FinalizeTimeout`. The parent stays."},
	}
}

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
