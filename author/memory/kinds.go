package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/patching"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/program"
)

// Kinds are the kinds that an API serves: the built-in ones, and those of definitions. A kind of which nothing is known
// has a status with conditions, and takes any other field.
type Kinds struct {
	Mapper      *restmapping.Mapper
	Schemas     *openapi.Published
	Definitions definitions.Kinds

	// groups are those of the built-in kinds.
	groups     *restmapping.Table
	byResource map[schema.GroupVersionResource]restmapping.Kind
	managers   map[managed]*managedfields.FieldManager
}

// managed is what a field manager is for.
type managed struct {
	kind        schema.GroupVersionKind
	subresource string
}

// NewKinds makes the Kinds for a rule and some objects, with definitions. The error names a definition that an API server
// would refuse.
func NewKinds(crds []*unstructured.Unstructured, rule *program.Program, objects ...*unstructured.Unstructured) (*Kinds, error) {
	k := &Kinds{byResource: make(map[schema.GroupVersionResource]restmapping.Kind), managers: make(map[managed]*managedfields.FieldManager)}
	table, err := restmapping.LoadBuiltin()
	if err != nil {
		return nil, err
	}
	k.groups = table
	if k.Definitions, err = definitions.NewKinds(crds); err != nil {
		return nil, err
	}
	known := slices.Clone(crds)
	for _, crd := range known {
		_ = table.Define(crd) // one without a version that is served is reported elsewhere
	}
	for gvk, namespaced := range kindsOf(rule, objects) {
		if _, ok := table.Lookup(gvk); ok || slices.ContainsFunc(known, func(crd *unstructured.Unstructured) bool { return defines(crd, gvk.GroupKind()) }) {
			continue
		}
		crd := guessed(gvk, namespaced)
		if err := table.Define(crd); err == nil {
			known = append(known, crd)
		}
	}
	all := table.Kinds()
	for _, kind := range all {
		k.byResource[kind.GVR] = kind
	}
	k.Mapper = restmapping.NewFixed(all)
	k.Schemas, err = openapi.NewFixed(known)
	return k, err
}

// KindsOf are the kinds of a cluster. It checks objects itself.
func KindsOf(mapper *restmapping.Mapper, schemas *openapi.Published) (*Kinds, error) {
	groups, err := restmapping.LoadBuiltin()
	k := &Kinds{
		Mapper: mapper, Schemas: schemas, groups: groups,
		byResource: make(map[schema.GroupVersionResource]restmapping.Kind), managers: make(map[managed]*managedfields.FieldManager),
	}
	for _, kind := range mapper.Kinds() {
		k.byResource[kind.GVR] = kind
	}
	return k, err
}

// kindsOf returns the kinds of a rule and of objects, and whether they are namespaced.
func kindsOf(rule *program.Program, objects []*unstructured.Unstructured) map[schema.GroupVersionKind]bool {
	kinds := make(map[schema.GroupVersionKind]bool)
	for _, object := range objects {
		kinds[object.GroupVersionKind()] = object.GetNamespace() != ""
	}
	for _, lookup := range rule.Lookups {
		kinds[lookup.GVK] = lookup.Namespaced
	}
	for _, patch := range rule.Patches {
		if patch.Target != nil {
			kinds[patch.GVK] = patch.Target.Namespaced
		}
	}
	for _, child := range rule.Children {
		kinds[child.GVK] = child.Namespaced
	}
	kinds[rule.Parent.GVK] = rule.Parent.Namespaced
	return kinds
}

func defines(crd *unstructured.Unstructured, kind schema.GroupKind) bool {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	name, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return group == kind.Group && name == kind.Kind
}

// guessed is the definition of a kind of which nothing is known.
func guessed(gvk schema.GroupVersionKind, namespaced bool) *unstructured.Unstructured {
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	scope := "Cluster"
	if namespaced {
		scope = "Namespaced"
	}
	open := func(fields map[string]any) map[string]any {
		fields["type"], fields["x-kubernetes-preserve-unknown-fields"] = "object", true
		return fields
	}
	crd := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": gvk.Group, "scope": scope, "names": map[string]any{"kind": gvk.Kind, "plural": resource.Resource},
		"versions": []any{map[string]any{
			"name": gvk.Version, "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
			"schema": map[string]any{"openAPIV3Schema": open(map[string]any{"properties": map[string]any{
				"status": open(map[string]any{"properties": map[string]any{"conditions": map[string]any{
					"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"},
					"items": open(map[string]any{"required": []any{"type"}, "properties": map[string]any{"type": map[string]any{"type": "string"}}}),
				}}}),
			}})},
		}},
	}}}
	crd.SetName(resource.Resource + "." + gvk.Group)
	return crd
}

// kind returns the kind of a resource.
func (k *Kinds) kind(gvr schema.GroupVersionResource) (restmapping.Kind, error) {
	kind, ok := k.byResource[gvr]
	if !ok {
		return kind, fmt.Errorf("no kind has the resource %s", gvr)
	}
	return kind, nil
}

// hasGeneration reports whether objects of a kind have metadata.generation: all custom kinds have it, but not all of
// Kubernetes' own.
func (k *Kinds) hasGeneration(gvk schema.GroupVersionKind) bool {
	return !k.groups.HasGroup(gvk.Group) || openapi.HasGeneration(gvk.GroupKind())
}

// manager returns the field manager of a kind.
func (k *Kinds) manager(ctx context.Context, kind restmapping.Kind, subresource string) (*managedfields.FieldManager, error) {
	of := managed{kind.GVK, subresource}
	if known := k.managers[of]; known != nil {
		return known, nil
	}
	converter, err := k.Schemas.Converter(ctx, kind.GVK)
	if errors.Is(err, openapi.ErrNoSchema) {
		converter, err = managedfields.NewDeducedTypeConverter(), nil
	}
	if err != nil {
		return nil, err
	}
	version := fieldpath.APIVersion(kind.GVK.GroupVersion().String())
	reset := map[fieldpath.APIVersion]fieldpath.Filter{}
	switch {
	case subresource != "":
		reset[version] = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie("spec"), fieldpath.MakePathOrDie("metadata")))
	case kind.HasStatus:
		reset[version] = fieldpath.NewExcludeSetFilter(fieldpath.NewSet(fieldpath.MakePathOrDie("status")))
	}
	made, err := managedfields.NewDefaultCRDFieldManager(converter, plainObjects{}, plainObjects{}, plainObjects{}, kind.GVK, kind.GVK.GroupVersion(), subresource, reset)
	k.managers[of] = made
	return made, err
}

// Patched returns an object as it is after a patch's manager has synced it with what all parents set there; nil for
// nothing.
func (k *Kinds) Patched(
	ctx context.Context, live *unstructured.Unstructured, manager string, content *patching.Part,
) (*unstructured.Unstructured, error) {
	a := newAPI(k, time.Now)
	a.immediate = true
	object, err := a.load(live)
	if err != nil {
		return nil, err
	}
	kind, err := a.kindOf(object)
	if err != nil {
		return nil, err
	}
	after, _, err := a.Patches().Sync(ctx, patching.Patch{GVR: kind.GVR, Object: object, Manager: manager, Content: content})
	return after, err
}

// Patches returns a writer of patches to the API.
func (a *API) Patches() *patching.Writer {
	return patching.NewWriter(apply.NewAPI(a, a.kinds.Schemas, a.kinds.hasStatus), apply.Reserved{})
}

// Typed returns the schema of a kind by which the API server merges.
func (k *Kinds) Typed(ctx context.Context, gvk schema.GroupVersionKind) (fieldset.Kind, error) {
	return apply.NewAPI(nil, k.Schemas, k.hasStatus).Kind(ctx, gvk)
}

// Part returns what a parent sets in an object by a patch.
func (k *Kinds) Part(ctx context.Context, object *unstructured.Unstructured) (*patching.Part, error) {
	return newAPI(k, time.Now).Patches().Part(ctx, object)
}

func (k *Kinds) hasStatus(gvk schema.GroupVersionKind) bool {
	kind, _ := k.Mapper.Lookup(gvk)
	return kind.HasStatus
}

// plainObjects makes and converts objects for field managers. Of another version they have the same fields.
type plainObjects struct{}

func (plainObjects) Default(runtime.Object) {}

func (plainObjects) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object, nil
}

func (plainObjects) Convert(_, _, _ any) error {
	return fmt.Errorf("objects are converted to versions")
}

func (plainObjects) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (plainObjects) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	object, ok := in.(*unstructured.Unstructured)
	is := in.GetObjectKind().GroupVersionKind()
	gvk, known := target.KindForGroupVersionKinds([]schema.GroupVersionKind{is})
	if !ok || !known || gvk == is {
		return in, nil
	}
	converted := &unstructured.Unstructured{Object: maps.Clone(object.Object)}
	converted.SetGroupVersionKind(gvk)
	return converted, nil
}
