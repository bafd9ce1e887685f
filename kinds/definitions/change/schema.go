package change

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/api/equality"
)

type props = apiextensionsv1.JSONSchemaProps

// walk compares the schemas of a version.
type walk struct {
	comparison *Comparison
	version    string
	// within counts the enclosing schemas that restrict their contents, and so may not accept a default inside.
	within int
}

// anyItem is the path's step to every item of a list and every entry of a map.
const anyItem = "*"

func pathOf(steps []string) string {
	var b strings.Builder
	for _, step := range steps {
		switch {
		case step == anyItem:
			b.WriteString("[*]")
		case b.Len() > 0:
			b.WriteString("." + step)
		default:
			b.WriteString(step)
		}
	}
	return b.String()
}

func (w *walk) add(steps []string, risk Risk, format string, args ...any) {
	w.comparison.add(w.version, pathOf(steps), risk, format, args...)
}

// schemas compares the schemas of a value. It knows which differences are harmless; any other one is a risk.
func (w *walk) schemas(steps []string, before, after *props) {
	old, now := strip(before), strip(after)
	w.types(steps, &old, &now)
	w.properties(steps, &old, &now)
	w.required(steps, &old, &now, after)
	w.defaults(steps, &old, &now, before)
	w.limits(steps, &old, &now)
	w.allowed(steps, &old, &now)
	w.validations(steps, &old, &now)
	if !equality.Semantic.DeepEqual(old, now) {
		w.add(steps, OfObjects, "the schema changes")
	}
	if after.MaxProperties != nil || len(after.XValidations) > 0 || len(after.AllOf)+len(after.AnyOf)+len(after.OneOf) > 0 || after.Not != nil {
		w.within++
		defer func() { w.within-- }()
	}
	w.below(steps, before, after)
}

// gained is the risk of a new default: an enclosing schema may not accept it.
func (w *walk) gained() Risk {
	if w.within > 0 {
		return OfObjects
	}
	return Harmless
}

// strip copies a schema without texts for people, items and entries.
func strip(s *props) props {
	out := *s
	out.ID, out.Schema, out.Description, out.Title, out.Example, out.ExternalDocs = "", "", "", "", nil, nil
	out.Items, out.AdditionalProperties = nil, nil
	return out
}

// types compares the types of a value, and clears them in both.
func (w *walk) types(steps []string, old, now *props) {
	was, is := typeOf(old), typeOf(now)
	switch {
	case was == is:
	case is == "any", is == "integer or string" && (was == "integer" || was == "string"), is == "number" && was == "integer":
		w.add(steps, Harmless, "its type is %s, and was %s", is, was)
	default:
		w.add(steps, OfObjects, "its type is %s, and was %s", is, was)
	}
	if old.Nullable && !now.Nullable {
		w.add(steps, OfObjects, "null is no longer allowed")
	} else if !old.Nullable && now.Nullable {
		w.add(steps, Harmless, "null is allowed")
	}
	if old.XEmbeddedResource != now.XEmbeddedResource {
		w.add(steps, OfObjects, "whether it is a whole object of Kubernetes changes")
	}
	for _, s := range []*props{old, now} {
		s.Type, s.XIntOrString, s.Nullable, s.XEmbeddedResource = "", false, false, false
	}
	wasMap, isMap := or(old.XMapType, "granular"), or(now.XMapType, "granular")
	if wasMap != isMap {
		w.add(steps, Harmless, "it is applied as %s, and was as %s", isMap, wasMap)
	}
	old.XMapType, now.XMapType = nil, nil
	w.lists(steps, old, now)
}

func or(text *string, other string) string {
	if text == nil {
		return other
	}
	return *text
}

// typeOf is the type of a value in words.
func typeOf(s *props) string {
	switch {
	case s.XIntOrString:
		return "integer or string"
	case s.Type == "":
		return "any"
	}
	return s.Type
}

// lists compares whether the items of a list must be unique.
func (w *walk) lists(steps []string, old, now *props) {
	was, is := or(old.XListType, "atomic"), or(now.XListType, "atomic")
	switch {
	case is == "map" && (was != "map" || !slices.Equal(old.XListMapKeys, now.XListMapKeys)):
		w.add(steps, OfObjects, "its items must differ in %s", strings.Join(now.XListMapKeys, " and "))
	case is == "set" && was != "set":
		w.add(steps, OfObjects, "its items must differ")
	case is != was:
		w.add(steps, Harmless, "its items need not differ")
	}
	if !old.UniqueItems && now.UniqueItems {
		w.add(steps, OfObjects, "its items must differ")
	}
	for _, s := range []*props{old, now} {
		s.XListType, s.XListMapKeys, s.UniqueItems = nil, nil, false
	}
}

// properties compares whether unknown fields are kept. It clears that, and the fields, in both.
func (w *walk) properties(steps []string, old, now *props) {
	kept := keeps(old)
	switch {
	case kept && !keeps(now):
		w.add(steps, OfObjects, "unknown fields are no longer kept")
	case !kept && keeps(now):
		w.add(steps, Harmless, "unknown fields are kept")
	}
	old.XPreserveUnknownFields, now.XPreserveUnknownFields = nil, nil
	old.Properties, now.Properties = nil, nil
}

func keeps(s *props) bool { return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields }

// below compares the schemas of fields, entries and items.
func (w *walk) below(steps []string, before, after *props) {
	at := func(step string) []string { return append(slices.Clone(steps), step) }
	names := slices.Sorted(maps.Keys(before.Properties))
	for name := range maps.Keys(after.Properties) {
		if _, ok := before.Properties[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	entriesBefore, entriesAfter := entriesOf(before), entriesOf(after)
	for _, name := range names {
		old, was := before.Properties[name]
		now, is := after.Properties[name]
		switch {
		case was && is:
			w.schemas(at(name), &old, &now)
		case was && entriesAfter != nil:
			w.schemas(at(name), &old, entriesAfter)
		case was && keeps(after):
			w.add(at(name), Harmless, "the field has no schema any more, and is kept")
		case was:
			w.add(at(name), OfObjects, "the field is removed")
		case entriesBefore != nil:
			w.schemas(at(name), entriesBefore, &now)
		case keeps(before):
			w.add(at(name), OfObjects, "the field has a schema, and could be anything")
		case now.Default != nil:
			w.add(at(name), w.gained(), "the field is new")
		default:
			w.add(at(name), Harmless, "the field is new")
		}
	}
	switch {
	case entriesBefore != nil && entriesAfter != nil:
		w.schemas(at(anyItem), entriesBefore, entriesAfter)
	case entriesBefore != nil && !keeps(after):
		w.add(at(anyItem), OfObjects, "entries of any name are no longer allowed")
	case entriesAfter != nil && keeps(before):
		w.add(at(anyItem), OfObjects, "entries have a schema, and could be anything")
	}
	switch old, now := itemsOf(before), itemsOf(after); {
	case old != nil && now != nil:
		w.schemas(at(anyItem), old, now)
	case now != nil:
		w.add(at(anyItem), OfObjects, "items have a schema")
	}
}

// entriesOf is the schema of a map's entries; nil if it has none.
func entriesOf(s *props) *props {
	switch of := s.AdditionalProperties; {
	case of == nil:
		return nil
	case of.Schema != nil:
		return of.Schema
	case of.Allows:
		keeps := true
		return &props{XPreserveUnknownFields: &keeps}
	}
	return nil
}

func itemsOf(s *props) *props {
	if s.Items == nil {
		return nil
	}
	return s.Items.Schema
}

// required compares the required fields, and clears them in both. A field with a default is always set.
func (w *walk) required(steps []string, old, now, after *props) {
	for _, name := range now.Required {
		property := after.Properties[name]
		switch {
		case slices.Contains(old.Required, name):
		case property.Default != nil:
			w.add(append(slices.Clone(steps), name), Harmless, "the field is required, and has a default")
		default:
			w.add(append(slices.Clone(steps), name), OfObjects, "the field is required, and has no default")
		}
	}
	for _, name := range old.Required {
		if !slices.Contains(now.Required, name) {
			w.add(append(slices.Clone(steps), name), Harmless, "the field is no longer required")
		}
	}
	old.Required, now.Required = nil, nil
}

// defaults compares the defaults, and clears them in both. An object without the field gets the new default. A removed
// default is a risk: nobody can know whether a value is only the default.
func (w *walk) defaults(steps []string, old, now, before *props) {
	was, is := valueOf(old.Default), valueOf(now.Default)
	switch {
	case equality.Semantic.DeepEqual(was, is):
	case now.Default == nil:
		w.add(steps, OfObjects, "it has no default, and had %s", textOf(old.Default))
		last := &w.comparison.Changes[len(w.comparison.Changes)-1]
		last.lostDefault = filled(was, before)
	case old.Default == nil:
		w.add(steps, w.gained(), "its default is %s", textOf(now.Default))
	default:
		w.add(steps, w.gained(), "its default is %s, and was %s", textOf(now.Default), textOf(old.Default))
	}
	old.Default, now.Default = nil, nil
}

// filled returns a default with the defaults of its own fields, as objects get it.
func filled(value any, of *props) any {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(of, &internal, nil); err != nil {
		return value
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return value
	}
	defaulting.Default(value, structural)
	return value
}

func valueOf(j *apiextensionsv1.JSON) any {
	if j == nil {
		return nil
	}
	var value any
	if err := json.Unmarshal(j.Raw, &value); err != nil {
		return string(j.Raw)
	}
	return value
}

func textOf(j *apiextensionsv1.JSON) string {
	const most = 60
	if text := string(j.Raw); len(text) <= most {
		return text
	}
	return "a long value"
}

// same compares values by their JSON.
func same(a, b any) bool {
	one, errOne := json.Marshal(a)
	two, errTwo := json.Marshal(b)
	return errOne == nil && errTwo == nil && string(one) == string(two)
}
