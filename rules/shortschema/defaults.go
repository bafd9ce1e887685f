package shortschema

import (
	"context"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/runtime"
)

// Constrain tells the reader that the kind has validations of spec or of the whole object. Call it before Root.
func (r *Reader) Constrain() { r.constraints++ }

// enter is called with the markers of a field before its content is read, and leave after that. A validation, or
// maxProperties, can forbid that an object has two of its mappings at once. Below such a field no mapping gets a
// default that its author did not write: if each had one, no object would be valid.
func (r *Reader) enter(markers []marker) (leave func()) {
	if !slices.ContainsFunc(markers, func(m marker) bool { return m.name == "validation" || m.name == "maxProperties" }) {
		return func() {}
	}
	r.constraints++
	return func() { r.constraints-- }
}

// addDefault gives an object an empty default if its fields have defaults and none is required. So the defaults of the
// fields apply even if the object is left out, as in kro. An object with a default of its own keeps it, and a required
// object gets none.
//
// The API server validates a default as it is written, without the defaults of the fields. If it would refuse an empty
// object, the default includes the fields. If it would refuse even that, there is no default.
func (f *made) addDefault() {
	if f.base != object || f.required || f.noDefault || f.schema["default"] != nil || f.schema["required"] != nil || !f.hasDefaults() {
		return
	}
	props := propsOf(f.schema)
	if props == nil {
		return
	}
	of, err := structuralschema.NewStructural(props)
	if err != nil {
		return
	}
	filled := map[string]any{}
	defaulting.Default(filled, of)
	if !takes(of, filled) {
		return
	}
	f.schema["default"] = filled
	if takes(of, map[string]any{}) {
		f.schema["default"] = map[string]any{}
	}
}

// hasDefaults reports whether a field of an object has a default.
func (f *made) hasDefaults() bool {
	properties, _ := f.schema["properties"].(map[string]any)
	for _, property := range properties {
		if field, _ := property.(map[string]any); field["default"] != nil {
			return true
		}
	}
	return false
}

// propsOf converts a schema to the API server's internal form. It returns nil if that is not possible.
func propsOf(schema map[string]any) *apiextensions.JSONSchemaProps {
	var props apiextensionsv1.JSONSchemaProps
	var internal apiextensions.JSONSchemaProps
	if runtime.DefaultUnstructuredConverter.FromUnstructured(schema, &props) != nil ||
		apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, &internal, nil) != nil {
		return nil
	}
	return &internal
}

// takes reports whether the API server accepts value as the default of an object. It ignores the defaults and the
// expressions of the object's fields.
func takes(of *structuralschema.Structural, value map[string]any) bool {
	own := of.DeepCopy()
	for name, field := range own.Properties {
		visitor := structuralschema.Visitor{Structural: func(s *structuralschema.Structural) bool {
			s.Default, s.XValidations = structuralschema.JSON{}, nil
			return true
		}}
		visitor.Visit(&field)
		own.Properties[name] = field
	}
	own.Default = structuralschema.JSON{Object: value}
	// The object is tested as a field, because the API server adds fields to a root.
	root := &structuralschema.Structural{Properties: map[string]structuralschema.Structural{"field": *own}}
	root.Type = "object"
	// Nothing needs to cancel this: the API server bounds the cost of expressions.
	wrong, err := defaulting.ValidateDefaults(context.Background(), nil, root, false, true) //nolint:forbidigo // decoding does not wait for anything, so it has no context
	return err == nil && len(wrong) == 0
}
