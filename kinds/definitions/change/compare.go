package change

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/kinds/definitions"
)

// Change is one difference between two definitions of a kind.
type Change struct {
	// Version is the version that changes; empty if the definition as a whole does.
	Version string
	// Path is the field that changes, such as spec.ports[*].name; empty if the kind or the version as a whole does.
	Path string
	// Text is what changes, such as "the field is removed".
	Text string
	Risk Risk
	// lostDefault is the default that the field no longer has.
	lostDefault any
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

// String is the change for people, such as "spec.color of v1: the field is removed".
func (c Change) String() string {
	switch {
	case c.Version == "":
		return c.Text
	case c.Path == "":
		return c.Version + ": " + c.Text
	default:
		return c.Path + " of " + c.Version + ": " + c.Text
	}
}

// Comparison has the changes between two definitions of a kind.
type Comparison struct {
	// Changes are in the order of the versions and of their fields. Changes of descriptions and other texts for people
	// are left out.
	Changes []Change
	// Objects is the resource from which to read the objects, and Kind their kind there.
	Objects schema.GroupVersionResource
	Kind    schema.GroupVersionKind

	before, after             *apiextensionsv1.CustomResourceDefinition
	beforeObject, afterObject *unstructured.Unstructured
}

// Compare compares a definition in a cluster with its replacement. A conversion that the replacement leaves out stays
// as it is.
func Compare(before, after *unstructured.Unstructured) (*Comparison, error) {
	c := &Comparison{beforeObject: before}
	var err error
	if c.before, err = read(before); err != nil {
		return nil, err
	}
	if c.after, err = read(after); err != nil {
		return nil, err
	}
	if c.after.Spec.Conversion == nil || c.after.Spec.Conversion.Strategy == apiextensionsv1.NoneConverter {
		c.after.Spec.Conversion = c.before.Spec.Conversion
	}
	if c.afterObject, err = write(c.after); err != nil {
		return nil, err
	}
	c.readFrom()
	c.compareKinds()
	c.compareVersions()
	return c, nil
}

// read decodes a definition, with the API server's defaults.
func read(object *unstructured.Unstructured) (*apiextensionsv1.CustomResourceDefinition, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &crd); err != nil {
		return nil, fmt.Errorf("read CustomResourceDefinition %s: %w", object.GetName(), err)
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(&crd)
	return &crd, nil
}

func write(crd *apiextensionsv1.CustomResourceDefinition) (*unstructured.Unstructured, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		return nil, fmt.Errorf("write CustomResourceDefinition %s: %w", crd.Name, err)
	}
	return &unstructured.Unstructured{Object: object}, nil
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

func (c *Comparison) add(version, path string, risk Risk, format string, args ...any) {
	c.Changes = append(c.Changes, Change{Version: version, Path: path, Risk: risk, Text: fmt.Sprintf(format, args...)})
}

// compareKinds compares what all versions share.
func (c *Comparison) compareKinds() {
	before, after := &c.before.Spec, &c.after.Spec
	if before.Scope != after.Scope {
		c.add("", "", Refused, "scope is %s, and was %s", after.Scope, before.Scope)
	}
	if before.Names.Kind != after.Names.Kind {
		c.add("", "", Refused, "the kind is %s, and was %s", after.Names.Kind, before.Names.Kind)
	}
	if before.Group != after.Group || before.Names.Plural != after.Names.Plural {
		c.add("", "", Refused, "the resource is %s.%s, and was %s.%s", after.Names.Plural, after.Group, before.Names.Plural, before.Group)
	}
	for _, name := range []struct{ what, before, after string }{
		{"singular", before.Names.Singular, after.Names.Singular}, {"listKind", before.Names.ListKind, after.Names.ListKind},
	} {
		if name.before != name.after {
			c.add("", "", Harmless, "%s is %s, and was %s", name.what, name.after, name.before)
		}
	}
	for _, names := range []struct {
		what          string
		before, after []string
	}{{"shortNames", before.Names.ShortNames, after.Names.ShortNames}, {"categories", before.Names.Categories, after.Names.Categories}} {
		if !slices.Equal(names.before, names.after) {
			c.add("", "", Harmless, "%s are %v, and were %v", names.what, names.after, names.before)
		}
	}
	if before.PreserveUnknownFields && !after.PreserveUnknownFields {
		c.add("", "", OfObjects, "unknown fields are no longer kept")
	}
}

func (c *Comparison) compareVersions() {
	stored := func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage }
	for _, before := range c.before.Spec.Versions {
		at := slices.IndexFunc(c.after.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == before.Name })
		switch {
		case at < 0 && slices.Contains(c.before.Status.StoredVersions, before.Name):
			c.add(before.Name, "", Refused, "the version is removed, and objects may still be stored in it: status.storedVersions has it")
		case at < 0 && before.Served:
			c.add(before.Name, "", OfUsers, "the version is removed")
		case at < 0:
			c.add(before.Name, "", Harmless, "the version is removed, and was not served")
		default:
			c.compareVersion(&before, &c.after.Spec.Versions[at])
		}
	}
	for _, after := range c.after.Spec.Versions {
		if !slices.ContainsFunc(c.before.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == after.Name }) {
			c.add(after.Name, "", Harmless, "the version is new")
		}
	}
	was, is := slices.IndexFunc(c.before.Spec.Versions, stored), slices.IndexFunc(c.after.Spec.Versions, stored)
	if was < 0 || is < 0 {
		return
	}
	if before, after := c.before.Spec.Versions[was], c.after.Spec.Versions[is]; before.Name != after.Name {
		c.add(after.Name, "", OfObjects, "objects are stored in it, and were in %s", before.Name)
	}
}

func (c *Comparison) compareVersion(before, after *apiextensionsv1.CustomResourceDefinitionVersion) {
	name := before.Name
	switch {
	case before.Served && !after.Served:
		c.add(name, "", OfUsers, "the version is no longer served")
	case !before.Served && after.Served:
		c.add(name, "", Harmless, "the version is served")
	}
	if before.Deprecated != after.Deprecated || !same(before.DeprecationWarning, after.DeprecationWarning) {
		c.add(name, "", Harmless, "deprecated is %t", after.Deprecated)
	}
	if !same(before.AdditionalPrinterColumns, after.AdditionalPrinterColumns) {
		c.add(name, "", Harmless, "the columns of kubectl change")
	}
	if !same(before.SelectableFields, after.SelectableFields) {
		c.add(name, "", OfUsers, "the selectable fields change")
	}
	c.compareSubresources(name, subresources(before), subresources(after))
	w := walk{comparison: c, version: name}
	w.schemas(nil, schemaOf(before), schemaOf(after))
}

func (c *Comparison) compareSubresources(version string, before, after *apiextensionsv1.CustomResourceSubresources) {
	switch {
	case before.Status != nil && after.Status == nil:
		c.add(version, "", OfUsers, "the subresource status is removed")
	case before.Status == nil && after.Status != nil:
		c.add(version, "", OfUsers, "status is a subresource: other writes of it are ignored")
	}
	switch {
	case before.Scale != nil && after.Scale == nil:
		c.add(version, "", OfUsers, "the subresource scale is removed")
	case !same(before.Scale, after.Scale):
		c.add(version, "", Harmless, "the subresource scale changes")
	}
}

func subresources(v *apiextensionsv1.CustomResourceDefinitionVersion) *apiextensionsv1.CustomResourceSubresources {
	if v.Subresources == nil {
		return &apiextensionsv1.CustomResourceSubresources{}
	}
	return v.Subresources
}

// schemaOf is the schema of a version. Without one, everything is allowed.
func schemaOf(v *apiextensionsv1.CustomResourceDefinitionVersion) *apiextensionsv1.JSONSchemaProps {
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		keeps := true
		return &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keeps}
	}
	return v.Schema.OpenAPIV3Schema
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
	text, err := json.Marshal([]any{c.before.UID, c.before.Generation, c.after.Name, c.after.Spec, c.texts()})
	if err != nil {
		return "", fmt.Errorf("write CustomResourceDefinition %s: %w", c.after.Name, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

func (c *Comparison) texts() []string {
	lines := make([]string, len(c.Changes))
	for i, change := range c.Changes {
		lines[i] = change.String()
	}
	return lines
}

func (c *Comparison) String() string { return strings.Join(c.texts(), "\n") }

// kinds returns the kinds of both definitions, to check objects with.
func (c *Comparison) kinds() (before, after definitions.Kinds, err error) {
	if before, err = definitions.NewKinds([]*unstructured.Unstructured{c.beforeObject}); err != nil {
		return nil, nil, err
	}
	after, err = definitions.NewKinds([]*unstructured.Unstructured{c.afterObject})
	return before, after, err
}
