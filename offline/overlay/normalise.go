package overlay

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/kinds/openapi/builtin"
)

// Normalise is a rendered object in the form in which the engine writes it. It does what fieldset.Kind.Normalise does
// with the schemas of a cluster. It does not change rendered. hasStatus is true if the kind has a status subresource.
func Normalise(schema *openapi.Schema, rendered *unstructured.Unstructured, hasStatus bool) *unstructured.Unstructured {
	isGo := builtin.Schemas{}.Schema(rendered.GroupVersionKind()) != nil
	content, _ := normalised(fieldset.FoldStringData(rendered), schema, isGo).(map[string]any)
	fieldset.DropServerFields(content, hasStatus)
	return &unstructured.Unstructured{Object: content}
}

// normalised is a normalised copy of a value. isGo is true within a Go type of Kubernetes, which drops empty lists and
// maps.
func normalised(value any, schema *openapi.Schema, isGo bool) any {
	if schema != nil && schema.Name != "" && !isRoot(schema) {
		isGo = isGoType(schema)
	}
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, v := range value {
			field, _ := schema.At(name)
			nullable := field != nil && field.Nullable
			if v == nil && !nullable {
				continue
			}
			if v = normalised(v, field, isGo); !isGo || nullable || !vanishes(v, field) {
				out[name] = v
			}
		}
		return out
	case []any:
		return normalisedList(value, schema, isGo)
	default:
		return value
	}
}

func normalisedList(list []any, schema *openapi.Schema, isGo bool) []any {
	var element *openapi.Schema
	if schema != nil {
		element = schema.Items
	}
	typed := element != nil && element.Type != openapi.Any && !element.Nullable
	out := make([]any, 0, len(list))
	for _, v := range list {
		if v == nil && typed {
			continue
		}
		v = normalised(v, element, isGo)
		if item, ok := v.(map[string]any); ok && schema != nil {
			completeKeys(item, schema)
		}
		out = append(out, v)
	}
	return out
}

// completeKeys fills in the defaults of the keys of a list map's item.
func completeKeys(item map[string]any, list *openapi.Schema) {
	for i, key := range list.Keys {
		if _, ok := item[key]; !ok && i < len(list.KeyDefaults) && list.KeyDefaults[i] != nil {
			item[key] = list.KeyDefaults[i]
		}
	}
}

// vanishes reports whether a Go type omits a value when it is encoded.
func vanishes(value any, schema *openapi.Schema) bool {
	switch value := value.(type) {
	case []any:
		return len(value) == 0 && schema != nil && schema.Type == openapi.List
	case map[string]any:
		return len(value) == 0 && schema != nil && schema.Type == openapi.Map && schema.Items != nil && schema.Items.Type != openapi.Any
	default:
		return false
	}
}

// isRoot reports whether a schema is that of a whole object. Its name does not show where the type comes from.
func isRoot(schema *openapi.Schema) bool {
	return schema.Fields["apiVersion"] != nil && schema.Fields["kind"] != nil && schema.Fields["metadata"] != nil
}

// isGoType reports whether a component was generated from a Go type of Kubernetes, like the metadata of every object.
func isGoType(schema *openapi.Schema) bool {
	title := schema.Title()
	return title == "metadata" || fieldset.IsGoType(title)
}
