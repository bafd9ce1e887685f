package definitions

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Change is one difference between two definitions of a kind.
type Change struct {
	// Path leads to it below spec: names of fields, and of versions.
	Path []string
	// Was and Is are the values before and after; nil for none.
	Was, Is any
	Risk    Risk
}

// Risk is the possible harm of a change.
type Risk int

const (
	// Harmless changes lose nothing.
	Harmless Risk = iota
	// OfObjects changes may do harm, depending on the stored objects.
	OfObjects
	// OfUsers changes break users of the kind, which no object shows. Without objects, nothing is lost.
	OfUsers
	// Refused changes are not allowed by the API server.
	Refused
)

// String is the change for people, such as "spec.color of v1 is removed".
func (c Change) String() string {
	what := strings.Join(c.Path, ".")
	if c.Path[0] == "versions" {
		if what = "version " + c.Path[1]; len(c.Path) > 2 {
			what = stepsText(c.Path[2:]) + " of " + c.Path[1]
		}
	}
	switch {
	case c.Is == nil:
		return what + " is removed"
	case c.Was == nil:
		return what + " is new"
	default:
		return fmt.Sprintf("%s is %s, and was %s", what, textOf(c.Is), textOf(c.Was))
	}
}

// stepsText is a path below a version. Of a schema, it has the names of fields, and [*] for items and entries.
func stepsText(path []string) string {
	if len(path) < 3 || path[0] != "schema" {
		return strings.Join(path, ".")
	}
	var b strings.Builder
	for _, step := range path[2:] {
		switch step {
		case "properties":
		case "items", "additionalProperties":
			b.WriteString("[*]")
		default:
			b.WriteString("." + step)
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

func textOf(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	const most = 120
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil || text.Len() > most {
		return "a long value"
	}
	return strings.TrimSpace(text.String())
}

// Comparison has the changes between two definitions of a kind.
type Comparison struct {
	// Changes are in the order of their paths. Changes of descriptions and other texts for people are left out.
	Changes []Change
	// Objects is the resource from which to read the objects, and Kind their kind there.
	Objects schema.GroupVersionResource
	Kind    schema.GroupVersionKind

	before, after *apiextensionsv1.CustomResourceDefinition
}

// Compare compares a definition in a cluster with its replacement. A conversion that the replacement leaves out stays
// as it is.
func Compare(before, after *unstructured.Unstructured) (*Comparison, error) {
	c := &Comparison{}
	var err error
	if c.before, err = decodeDefinition(before); err != nil {
		return nil, err
	}
	if c.after, err = decodeDefinition(after); err != nil {
		return nil, err
	}
	if c.after.Spec.Conversion == nil || c.after.Spec.Conversion.Strategy == apiextensionsv1.NoneConverter {
		c.after.Spec.Conversion = c.before.Spec.Conversion
	}
	was, err := compared(c.before)
	if err != nil {
		return nil, err
	}
	is, err := compared(c.after)
	if err != nil {
		return nil, err
	}
	c.readFrom()
	c.compare(nil, was, is, false)
	return c, nil
}

func decodeDefinition(object *unstructured.Unstructured) (*apiextensionsv1.CustomResourceDefinition, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &crd); err != nil {
		return nil, fmt.Errorf("read CustomResourceDefinition %s: %w", object.GetName(), err)
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(&crd)
	return &crd, nil
}

// readFrom chooses the version from which the objects are read: the storage version, because it has all of their
// fields, or else a served one.
func (c *Comparison) readFrom() {
	names := c.before.Spec.Names
	for _, v := range c.before.Spec.Versions {
		if v.Served && (v.Storage || c.Objects.Version == "") {
			c.Objects = schema.GroupVersionResource{Group: c.before.Spec.Group, Version: v.Name, Resource: names.Plural}
		}
	}
	c.Kind = c.Objects.GroupVersion().WithKind(names.Kind)
}

// compared is what is compared of a definition: its spec, with the versions by their names, and without texts for people.
func compared(crd *apiextensionsv1.CustomResourceDefinition) (map[string]any, error) {
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&crd.Spec)
	if err != nil {
		return nil, fmt.Errorf("read CustomResourceDefinition %s: %w", crd.Name, err)
	}
	delete(spec, "conversion")
	versions := map[string]any{}
	list, _ := spec["versions"].([]any)
	for _, item := range list {
		version, _ := item.(map[string]any)
		if version["subresources"] == nil {
			version["subresources"] = map[string]any{}
		}
		root, _, _ := unstructured.NestedFieldNoCopy(version, "schema", "openAPIV3Schema")
		withoutTexts(root)
		name, _ := version["name"].(string)
		versions[name] = version
	}
	spec["versions"] = versions
	return spec, nil
}

func withoutTexts(value any) {
	schema, _ := value.(map[string]any)
	for _, text := range []string{"id", "$schema", "description", "title", "example", "externalDocs"} {
		delete(schema, text)
	}
	rules, _ := schema["x-kubernetes-validations"].([]any)
	for _, rule := range rules {
		if fields, ok := rule.(map[string]any); ok {
			maps.DeleteFunc(fields, func(name string, _ any) bool { return name != "rule" && name != "optionalOldSelf" })
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, property := range properties {
		withoutTexts(property)
	}
	for _, name := range []string{"items", "additionalProperties"} {
		if schema[name] != nil {
			withoutTexts(schema[name])
		}
	}
}

// compare adds the differences between two values at a path. closed is true for the properties of a schema that allows no
// others.
func (c *Comparison) compare(path []string, was, is any, closed bool) {
	before, wasMap := was.(map[string]any)
	after, isMap := is.(map[string]any)
	if !wasMap || !isMap {
		if !reflect.DeepEqual(was, is) {
			change := Change{Path: path, Was: was, Is: is}
			if change.Risk = c.risk(change); closed && was == nil && after["default"] == nil { // an enclosing schema may not accept a default
				change.Risk = Harmless
			}
			c.Changes = append(c.Changes, change)
		}
		return
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		was, is := before[name], after[name]
		isNew := closed && was == nil
		if len(path) > 3 && name == "properties" {
			isNew = before["x-kubernetes-preserve-unknown-fields"] != true && before["additionalProperties"] == nil
			was, is = orEmpty(was), orEmpty(is)
		}
		c.compare(append(slices.Clone(path), name), was, is, isNew)
	}
}

func orEmpty(value any) any {
	if value == nil {
		return map[string]any{}
	}
	return value
}

// risk is the harm that a change can do. Every change of a schema may do some: what objects lose is found out by checking
// them.
func (c *Comparison) risk(change Change) Risk {
	switch path := strings.Join(change.Path, "."); {
	case slices.Contains([]string{"scope", "group", "names.kind", "names.plural"}, path):
		return Refused
	case path == "preserveUnknownFields":
		return OfObjects
	case change.Path[0] != "versions":
		return Harmless
	}
	if version := change.Path[1]; len(change.Path) == 2 {
		fields, _ := change.Was.(map[string]any)
		switch {
		case slices.Contains(c.before.Status.StoredVersions, version):
			return Refused
		case fields["served"] == true:
			return OfUsers
		}
		return Harmless
	}
	switch change.Path[2] {
	case "schema", "storage":
		return OfObjects
	case "selectableFields":
		return OfUsers
	case "served":
		if change.Is != true {
			return OfUsers
		}
	case "subresources":
		if change.Is == nil || change.Was == nil && change.Path[3] == "status" {
			return OfUsers
		}
	}
	return Harmless
}

// IsSame reports whether nothing changes, apart from texts for people.
func (c *Comparison) IsSame() bool { return len(c.Changes) == 0 }

// NeedsObjects reports whether the harm of the change depends on the stored objects.
func (c *Comparison) NeedsObjects() bool {
	return slices.ContainsFunc(c.Changes, func(change Change) bool { return change.Risk == OfObjects || change.Risk == OfUsers })
}

// Never lists the changes that the API server refuses.
func (c *Comparison) Never() []Change { return c.with(Refused) }

// IsServed reports whether the cluster serves the kind, so that objects may exist.
func (c *Comparison) IsServed() bool {
	return slices.ContainsFunc(c.before.Status.Conditions, func(condition apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue
	})
}

func (c *Comparison) with(risk Risk) []Change {
	var found []Change
	for _, change := range c.Changes {
		if change.Risk == risk {
			found = append(found, change)
		}
	}
	return found
}

// Token identifies the change from the definition as it is in the cluster now to its replacement. Any other change has
// another token, and so does the same change at another time.
func (c *Comparison) Token() (string, error) {
	text, err := json.Marshal([]any{c.before.UID, c.before.Generation, c.after.Name, c.after.Spec, c.String()})
	if err != nil {
		return "", fmt.Errorf("write CustomResourceDefinition %s: %w", c.after.Name, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

func (c *Comparison) String() string { return strings.Join(stringsOf(c.Changes), "\n") }
