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

// Constrain says that the kind has validations of spec or of the whole object. It comes before Root.
func (r *Reader) Constrain() { r.constraints++ }

// enter takes in the markers of a field before what is in the field is read, and leave ends that. A validation can forbid an object to have
// two of its mappings at once, and so can maxProperties. Below these, no mapping gets a default that its author did not write: with one
// for each, no object would be valid.
func (r *Reader) enter(markers []marker) (leave func()) {
	if !slices.ContainsFunc(markers, func(m marker) bool { return m.name == "validation" || m.name == "maxProperties" }) {
		return func() {}
	}
	r.constraints++
	return func() { r.constraints-- }
}

// addDefault gives an object an empty default if its fields have defaults and none is required, so that these apply in an object that is
// left out, too, as kro does it. An object with a default of its own keeps that, and one that is required is left to the author.
//
// The API server checks a default as it stands, before the defaults of the fields are in it. Where it would refuse an empty one, the
// default has the fields. Where it would refuse the object with the defaults of its fields, there is none.
func (f *made) addDefault() {
	if f.base != object || f.required || f.noDefault || f.schema["default"] != nil || f.schema["required"] != nil || !f.hasDefaults() {
		return
	}
	of := structuralOf(f.schema)
	if of == nil {
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

// structuralOf is a schema in the form in which the API server uses it; nil if it refuses the schema.
func structuralOf(schema map[string]any) *structuralschema.Structural {
	var props apiextensionsv1.JSONSchemaProps
	var internal apiextensions.JSONSchemaProps
	if runtime.DefaultUnstructuredConverter.FromUnstructured(schema, &props) != nil ||
		apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, &internal, nil) != nil {
		return nil
	}
	of, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil
	}
	return of
}

// takes reports whether the API server takes a default of an object. What it says of the defaults and the expressions of the fields does not
// count here.
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
	// It is a field, because the API server gives a root more fields.
	root := &structuralschema.Structural{Properties: map[string]structuralschema.Structural{"field": *own}}
	root.Type = "object"
	// The context cancels nothing: the API server bounds what expressions cost.
	wrong, err := defaulting.ValidateDefaults(context.Background(), nil, root, false, true) //nolint:forbidigo // decoding does not wait for anything, so it has no context
	return err == nil && len(wrong) == 0
}
