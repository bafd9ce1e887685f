package openapi

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// jsonSchema has the parts of a schema in an OpenAPI v3 document or a CustomResourceDefinition that are needed.
// Descriptions and most limits of values are left out.
type jsonSchema struct {
	Ref                  string                 `json:"$ref,omitempty"`
	Type                 jsonType               `json:"type,omitempty"`
	Format               string                 `json:"format,omitempty"`
	Pattern              string                 `json:"pattern,omitempty"`
	Properties           map[string]*jsonSchema `json:"properties,omitempty"`
	AdditionalProperties *jsonAdditional        `json:"additionalProperties,omitempty"`
	Items                *jsonItems             `json:"items,omitempty"`
	Required             []string               `json:"required,omitempty"`
	Enum                 []any                  `json:"enum,omitempty"`
	Nullable             bool                   `json:"nullable,omitempty"`
	Default              json.RawMessage        `json:"default,omitempty"`
	AllOf                []*jsonSchema          `json:"allOf,omitempty"`
	OneOf                []*jsonSchema          `json:"oneOf,omitempty"`
	AnyOf                []*jsonSchema          `json:"anyOf,omitempty"`

	PreserveUnknown  bool       `json:"x-kubernetes-preserve-unknown-fields,omitempty"`
	EmbeddedResource bool       `json:"x-kubernetes-embedded-resource,omitempty"`
	IntOrString      bool       `json:"x-kubernetes-int-or-string,omitempty"`
	ListType         string     `json:"x-kubernetes-list-type,omitempty"`
	ListMapKeys      []string   `json:"x-kubernetes-list-map-keys,omitempty"`
	MapType          string     `json:"x-kubernetes-map-type,omitempty"`
	Kinds            []jsonKind `json:"x-kubernetes-group-version-kind,omitempty"`

	Validations []jsonValidation `json:"x-kubernetes-validations,omitempty"`
}

type jsonValidation struct {
	Rule string `json:"rule"`
}

func (s *jsonSchema) isImmutable() bool {
	return slices.ContainsFunc(s.Validations, func(v jsonValidation) bool {
		rule := strings.Join(strings.Fields(strings.ReplaceAll(v.Rule, "==", " == ")), " ")
		return rule == "self == oldSelf" || rule == "oldSelf == self"
	})
}

type jsonKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

func (k jsonKind) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

// jsonType is the name of a type. It is empty if a document has several, which OpenAPI 3.0 does not allow.
type jsonType string

// UnmarshalJSON implements json.Unmarshaler.
func (t *jsonType) UnmarshalJSON(data []byte) error {
	*t = ""
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, (*string)(t))
	}
	return nil
}

// jsonAdditional is additionalProperties: a schema or a bool.
type jsonAdditional struct {
	// schema is nil for a bool.
	schema *jsonSchema
	allows bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *jsonAdditional) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '{' {
		return json.Unmarshal(data, &a.allows)
	}
	a.allows = true
	return json.Unmarshal(data, &a.schema)
}

// MarshalJSON implements json.Marshaler.
func (a jsonAdditional) MarshalJSON() ([]byte, error) {
	if a.schema != nil {
		return json.Marshal(a.schema)
	}
	return json.Marshal(a.allows)
}

// jsonItems is items: one schema. A list of schemas, which OpenAPI 3.0 does not allow, counts as any.
type jsonItems struct{ schema *jsonSchema }

// UnmarshalJSON implements json.Unmarshaler.
func (i *jsonItems) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '{' {
		i.schema = &jsonSchema{}
		return nil
	}
	return json.Unmarshal(data, &i.schema)
}

// MarshalJSON implements json.Marshaler.
func (i jsonItems) MarshalJSON() ([]byte, error) { return json.Marshal(i.schema) }

// componentPrefix is the prefix of references to components of the same document.
const componentPrefix = "#/components/schemas/"

// refersTo returns the component that a schema refers to, directly or as the only schema of allOf, which allows a
// default beside it. It is empty if there is none.
func (s *jsonSchema) refersTo() string {
	ref := s.Ref
	if ref == "" && len(s.AllOf) == 1 && s.Type == "" && s.Properties == nil && s.Items == nil {
		ref = s.AllOf[0].Ref
	}
	name, ok := strings.CutPrefix(ref, componentPrefix)
	if !ok {
		return ""
	}
	return name
}

func (s *jsonSchema) isAtomic() bool { return s.MapType == "atomic" }

// scalarDefault returns the default of a string, number or boolean, with the type that objects have; nil without one.
func (s *jsonSchema) scalarDefault() any {
	var value any
	if len(s.Default) == 0 || json.Unmarshal(s.Default, &value) != nil {
		return nil
	}
	switch value.(type) {
	case string, float64, bool:
		return scalar(value)
	}
	return nil
}

func (s *jsonSchema) children(f func(*jsonSchema)) {
	call := func(child *jsonSchema) {
		if child != nil {
			f(child)
		}
	}
	for _, p := range s.Properties {
		call(p)
	}
	if s.AdditionalProperties != nil {
		call(s.AdditionalProperties.schema)
	}
	if s.Items != nil {
		call(s.Items.schema)
	}
	for _, alternatives := range [][]*jsonSchema{s.AllOf, s.OneOf, s.AnyOf} {
		for _, alternative := range alternatives {
			call(alternative)
		}
	}
}

func (s *jsonSchema) typ() Type {
	if s.IntOrString || s.Format == "int-or-string" {
		return IntOrString
	}
	switch s.Type {
	case "object":
		if s.AdditionalProperties != nil && s.AdditionalProperties.allows && len(s.Properties) == 0 {
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
	case s.AdditionalProperties != nil && s.AdditionalProperties.allows:
		return Map
	case len(s.OneOf) > 0:
		return typeOfAny(s.OneOf)
	case len(s.AnyOf) > 0:
		return typeOfAny(s.AnyOf)
	default:
		return Any
	}
}

func typeOfAny(alternatives []*jsonSchema) Type {
	types := make([]Type, 0, 2)
	for _, a := range alternatives {
		if a == nil || a.Ref != "" {
			return Any
		}
		if t := a.typ(); !slices.Contains(types, t) {
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
