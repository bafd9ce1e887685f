package openapi

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// isTrue reports whether an extension of OpenAPI is true. Extensions have the names without x-kubernetes-.
func isTrue(s *spec.Schema, extension string) bool {
	is, _ := s.Extensions.GetBool("x-kubernetes-" + extension)
	return is
}

func isWord(s *spec.Schema, extension, word string) bool {
	is, _ := s.Extensions.GetString("x-kubernetes-" + extension)
	return is == word
}

func isEmbedded(s *spec.Schema) bool { return isTrue(s, "embedded-resource") }

func isAtomic(s *spec.Schema) bool { return isWord(s, "map-type", "atomic") }

func allowsOthers(s *spec.Schema) bool {
	return s.AdditionalProperties != nil && s.AdditionalProperties.Allows
}

// itemsOf returns the schema of a list's items; nil if there is none, or several, which OpenAPI 3.0 does not allow.
func itemsOf(s *spec.Schema) *spec.Schema {
	if s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

func isImmutable(s *spec.Schema) bool {
	validations, _ := s.Extensions["x-kubernetes-validations"].([]any)
	return slices.ContainsFunc(validations, func(v any) bool {
		fields, _ := v.(map[string]any)
		text, _ := fields["rule"].(string)
		rule := strings.Join(strings.Fields(strings.ReplaceAll(text, "==", " == ")), " ")
		return rule == "self == oldSelf" || rule == "oldSelf == self"
	})
}

// componentPrefix is the prefix of references to components of the same document.
const componentPrefix = "#/components/schemas/"

// refersTo returns the component that a schema refers to, directly or as the only schema of allOf, which allows a
// default beside it. It is empty if there is none.
func refersTo(s *spec.Schema) string {
	ref := s.Ref.String()
	if ref == "" && len(s.AllOf) == 1 && len(s.Type) == 0 && s.Properties == nil && s.Items == nil {
		ref = s.AllOf[0].Ref.String()
	}
	name, ok := strings.CutPrefix(ref, componentPrefix)
	if !ok {
		return ""
	}
	return name
}

// scalarDefault returns the default of a string, number or boolean, with the type that objects have; nil without one.
func scalarDefault(s *spec.Schema) any {
	switch s.Default.(type) {
	case string, float64, bool:
		return scalar(s.Default)
	}
	return nil
}

// dropUnread drops texts and extensions that the model does not read, so that schemas which differ only in them are equal.
func dropUnread(s *spec.Schema) {
	s.Description = ""
	maps.DeleteFunc(s.Extensions, func(name string, _ any) bool {
		return strings.HasPrefix(name, "x-kubernetes-patch-") || name == "x-kubernetes-unions"
	})
	children(s, dropUnread)
}

// children calls f, which may change them, with the schemas directly below a schema.
func children(s *spec.Schema, f func(*spec.Schema)) {
	for name, p := range s.Properties {
		f(&p)
		s.Properties[name] = p
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		f(s.AdditionalProperties.Schema)
	}
	if items := itemsOf(s); items != nil {
		f(items)
	}
	for _, alternatives := range [][]spec.Schema{s.AllOf, s.OneOf, s.AnyOf} {
		for i := range alternatives {
			f(&alternatives[i])
		}
	}
}

func typeOf(s *spec.Schema) Type {
	if isTrue(s, "int-or-string") || s.Format == "int-or-string" {
		return IntOrString
	}
	name := ""
	if len(s.Type) == 1 { // OpenAPI 3.0 does not allow several
		name = s.Type[0]
	}
	switch name {
	case "object":
		if allowsOthers(s) && len(s.Properties) == 0 {
			return Map
		}
		return Object
	case "array":
		return List
	case "string":
		return String
	case "integer":
		return Integer
	case "number":
		return Number
	case "boolean":
		return Boolean
	}
	switch {
	case len(s.Properties) > 0:
		return Object
	case s.Items != nil:
		return List
	case allowsOthers(s):
		return Map
	case len(s.OneOf) > 0:
		return typeOfAny(s.OneOf)
	default:
		return typeOfAny(s.AnyOf)
	}
}

func typeOfAny(alternatives []spec.Schema) Type {
	types := make([]Type, 0, 2)
	for i := range alternatives {
		if alternatives[i].Ref.String() != "" {
			return Any
		}
		if t := typeOf(&alternatives[i]); !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	slices.Sort(types)
	switch {
	case len(types) == 1 && types[0] >= String:
		return types[0]
	case slices.Equal(types, []Type{String, Integer}), slices.Equal(types, []Type{String, Number}):
		return IntOrString
	default:
		return Any
	}
}
