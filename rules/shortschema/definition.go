package shortschema

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// Kind is a kind with all of its versions.
type Kind struct {
	schema.GroupKind
	// Plural and Singular are the names in paths and for kubectl. If empty, Names has the defaults.
	Plural, Singular string
	// ShortNames and Categories are texts.
	ShortNames, Categories []any
	Namespaced             bool
	Description            string
	// ConditionPrefix is the prefix of the types of Kanon's conditions.
	ConditionPrefix string
	Versions        []Version
}

// Version is one version of a kind.
type Version struct {
	Name string
	// Unserved is true if the API server does not serve the version. Stored is true if it stores objects in it.
	Unserved, Stored bool
	// Warning is the deprecation warning. It is empty if the version is not deprecated.
	Warning string
	// Spec and Status are the schemas of spec and status, or nil.
	Spec, Status map[string]any
	// OpenStatus lets the status have fields that are not in its schema.
	OpenStatus bool
	// Validations are the validations of whole objects.
	Validations []any
	// Columns are the printer columns. A column without a type gets the type of its field.
	Columns []any
	// Scale is the scale subresource, or nil.
	Scale map[string]any
}

// Path returns the path of a version's schema in the definition. version is its index.
func Path(version int, more ...string) []string {
	return append([]string{"spec", "versions", strconv.Itoa(version), "schema", "openAPIV3Schema"}, more...)
}

// Definition returns the CustomResourceDefinition. Every version has the status subresource, with conditions.
func (k *Kind) Definition() *unstructured.Unstructured {
	plural, singular := k.Names()
	names := map[string]any{"kind": k.Kind, "listKind": k.Kind + "List", "plural": plural, "singular": singular}
	if len(k.ShortNames) > 0 {
		names["shortNames"] = k.ShortNames
	}
	if len(k.Categories) > 0 {
		names["categories"] = k.Categories
	}
	scope := "Cluster"
	if k.Namespaced {
		scope = "Namespaced"
	}
	versions := make([]any, len(k.Versions))
	for i := range k.Versions {
		versions[i] = k.Versions[i].definition(k)
	}
	metadata := map[string]any{"name": plural + "." + k.Group}
	if strings.HasSuffix(k.Group, ".k8s.io") || strings.HasSuffix(k.Group, ".kubernetes.io") {
		// The API server requires this annotation for the groups of the Kubernetes community. Nobody approved the kind.
		metadata["annotations"] = map[string]any{"api-approved.kubernetes.io": "unapproved, experimental-only"}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata,
		"spec": map[string]any{"group": k.Group, "names": names, "scope": scope, "versions": versions},
	}}
}

// Names returns the plural and the singular of the kind. Their defaults are those of kubebuilder: policies for Policy,
// classes for Class, apps for App.
func (k *Kind) Names() (plural, singular string) {
	singular = k.Singular
	if singular == "" {
		singular = strings.ToLower(k.Kind)
	}
	if k.Plural != "" {
		return k.Plural, singular
	}
	switch plural = strings.ToLower(k.Kind); {
	case endsIn(plural, "s", "x", "z", "ch", "sh"):
		return plural + "es", singular
	case strings.HasSuffix(plural, "y") && !endsIn(plural, "ay", "ey", "iy", "oy", "uy"):
		return plural[:len(plural)-1] + "ies", singular
	default:
		return plural + "s", singular
	}
}

func endsIn(text string, ends ...string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(text, end) })
}

// schema returns the schema of whole objects.
func (v *Version) schema() map[string]any {
	properties := map[string]any{
		"apiVersion": map[string]any{"type": "string", "description": "The version of the kind."},
		"kind":       map[string]any{"type": "string", "description": "The kind of the object."},
		"metadata":   map[string]any{"type": "object"},
	}
	root := map[string]any{"type": "object", "properties": properties}
	if v.Spec != nil {
		properties["spec"] = v.Spec
		if required, _ := v.Spec["required"].([]any); len(required) > 0 {
			root["required"] = []any{"spec"}
		}
	}
	status := withReport(v.Status)
	if v.OpenStatus {
		status["x-kubernetes-preserve-unknown-fields"] = true
	}
	properties["status"] = status
	if len(v.Validations) > 0 {
		root["x-kubernetes-validations"] = v.Validations
	}
	return root
}

func (v *Version) definition(k *Kind) map[string]any {
	root := v.schema()
	if k.Description != "" {
		root["description"] = k.Description
	}
	subresources := map[string]any{"status": map[string]any{}}
	if v.Scale != nil {
		subresources["scale"] = v.Scale
	}
	made := map[string]any{
		"name": v.Name, "served": !v.Unserved, "storage": v.Stored,
		"schema":       map[string]any{"openAPIV3Schema": root},
		"subresources": subresources, "additionalPrinterColumns": v.columns(k.ConditionPrefix),
	}
	if v.Warning != "" {
		made["deprecated"], made["deprecationWarning"] = true, v.Warning
	}
	return made
}

// columns returns the columns, each with a type, and after them Ready, Reason and Age, unless there are such ones.
func (v *Version) columns(conditionPrefix string) []any {
	typed := make([]any, len(v.Columns))
	for i := range v.Columns {
		column, _ := v.Columns[i].(map[string]any)
		column = maps.Clone(column)
		if column["type"] == nil {
			of, _ := column["jsonPath"].(string)
			column["type"] = "string"
			if typ := v.Find(of).Type; slices.Contains([]string{"integer", "number", "boolean", "date"}, typ) {
				column["type"] = typ
			}
		}
		typed[i] = column
	}
	ready := `.status.conditions[?(@.type=="` + conditionPrefix + `Ready")]`
	for _, column := range []map[string]any{
		{"name": "Ready", "type": "string", "jsonPath": ready + ".status"},
		{"name": "Reason", "type": "string", "jsonPath": ready + ".reason", "priority": int64(1)},
		{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
	} {
		if !slices.ContainsFunc(v.Columns, func(given any) bool { return isNamed(given, column["name"]) }) {
			typed = append(typed, column)
		}
	}
	return typed
}

// isNamed reports whether a column has a name, in any case.
func isNamed(column, name any) bool {
	fields, _ := column.(map[string]any)
	given, _ := fields["name"].(string)
	wanted, _ := name.(string)
	return strings.EqualFold(given, wanted)
}

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

// Places maps paths of the definition to positions in the rule.
type Places struct {
	source *yamltree.Source
	// of has the places by placeKey.
	of map[string]place
}

func newPlaces(source *yamltree.Source) Places { return Places{source: source, of: map[string]place{}} }

type place struct {
	at diagnostic.Position
	// node is the scalar that has an expression, from the byte offset of its value on. It is nil for everything else.
	node   *yamltree.Node
	offset int
}

// Place returns the position in the rule for a path of the definition, or else for its longest known prefix. offset is
// the byte in an expression at that path. Place returns false if no prefix is known.
func (p *Places) Place(path []string, offset int) (diagnostic.Position, bool) {
	for n := len(path); n > 0; n-- {
		found, ok := p.of[placeKey(path[:n])]
		switch {
		case !ok:
			continue
		case found.node != nil && n == len(path) && offset > 0:
			return p.source.Within(found.node, found.offset+offset), true
		}
		return found.at, true
	}
	return diagnostic.Position{}, false
}

func placeKey(path []string) string { return strings.Join(path, "\x00") }

// Mark records the position in the rule for a path of the definition.
func (p *Places) Mark(at diagnostic.Position, path ...string) {
	p.of[placeKey(path)] = place{at: at}
}

// MarkText is Mark for an expression, which begins at the byte offset of a scalar's value.
func (p *Places) MarkText(n *yamltree.Node, offset int, path ...string) {
	p.of[placeKey(path)] = place{at: p.source.Within(n, offset), node: n, offset: offset}
}

// markAll records the positions of a node and of all nodes below it, which the definition has unchanged.
func (p *Places) markAll(n *yamltree.Node, path []string) {
	p.Mark(p.source.At(n), path...)
	for _, f := range n.Fields {
		p.markAll(f.Value, append(slices.Clone(path), f.Name))
	}
	for i, item := range n.Items {
		p.markAll(item, append(slices.Clone(path), strconv.Itoa(i)))
	}
}
