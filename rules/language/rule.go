package language

import (
	"strings"
	"sync"
)

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
