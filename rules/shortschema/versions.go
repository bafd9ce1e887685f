package shortschema

import (
	"maps"
	"slices"
)

// Conflict is a field that cannot be served in two versions. Kanon has no conversion webhook, so the API server changes
// only the apiVersion of an object.
type Conflict struct {
	// Version and Other are indices of versions. Version has the field.
	Version, Other int
	// Field is the path of the field in an object, Path its path in the definition.
	Field, Path []string
	// Type and OtherType are the types of the field. Both are empty if Other lacks the field, so that writing an object
	// in that version removes it.
	Type, OtherType string
}

// Conflicts returns the conflicts between the versions that the API server serves or stores.
func (k *Kind) Conflicts() []Conflict {
	var found []Conflict
	for i := range k.Versions {
		for j := range k.Versions {
			if i == j || !k.Versions[i].isUsed() || !k.Versions[j].isUsed() {
				continue
			}
			c := comparison{version: i, other: j}
			for _, part := range []string{"spec", "status"} {
				c.compare(k.Versions[i].part(part), k.Versions[j].part(part), []string{part}, Path(i, "properties", part))
			}
			found = append(found, c.found...)
		}
	}
	return found
}

func (v *Version) isUsed() bool { return !v.Unserved || v.Stored }

func (v *Version) part(name string) map[string]any {
	part := v.Spec
	if name == "status" {
		part = v.Status
	}
	if part == nil {
		return map[string]any{"type": "object"}
	}
	return part
}

type comparison struct {
	version, other int
	found          []Conflict
}

func (c *comparison) compare(a, b map[string]any, field, path []string) {
	kind, other := typeOfSchema(a), typeOfSchema(b)
	switch {
	case kind == "" || other == "":
		return // one of the types is unknown
	case kind != other:
		if c.version < c.other { // else it was reported
			c.report(field, path, kind, other)
		}
		return
	}
	for _, below := range []string{"items", "additionalProperties"} {
		x, hasA := a[below].(map[string]any)
		y, hasB := b[below].(map[string]any)
		if hasA && hasB {
			c.compare(x, y, append(slices.Clone(field), "[]"), append(slices.Clone(path), below))
		}
	}
	fields, _ := a["properties"].(map[string]any)
	others, _ := b["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		x, _ := fields[name].(map[string]any)
		y, has := others[name].(map[string]any)
		at, in := append(slices.Clone(field), name), append(slices.Clone(path), "properties", name)
		if has {
			c.compare(x, y, at, in)
		} else if b["x-kubernetes-preserve-unknown-fields"] != true {
			c.report(at, in, "", "")
		}
	}
}

func (c *comparison) report(field, path []string, kind, other string) {
	c.found = append(c.found, Conflict{Version: c.version, Other: c.other, Field: field, Path: path, Type: kind, OtherType: other})
}

// typeOfSchema names the type of values in a message. It returns "" if the schema has no type.
func typeOfSchema(schema map[string]any) string {
	kind, _ := schema["type"].(string)
	isOpen := schema["x-kubernetes-preserve-unknown-fields"] == true
	switch {
	case isOpen && kind == "":
		return "any value"
	case isOpen && kind == "object":
		return "an object with any fields"
	case schema["x-kubernetes-int-or-string"] == true:
		return "a number or text"
	case kind == "object" && schema["additionalProperties"] != nil:
		return "a map"
	}
	return map[string]string{"string": "text", "integer": "a whole number", "number": "a number", "boolean": "a boolean", "array": "a list", "object": "an object"}[kind]
}
