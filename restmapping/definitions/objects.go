package definitions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// Kinds are the kinds of definitions. They treat objects as the API server does on a write.
type Kinds map[schema.GroupVersionKind]*kind

type kind struct {
	namespaced, hasStatus bool
	// converts is true if the API server converts objects of other versions to this one without a webhook.
	converts   bool
	structural *structuralschema.Structural
	props      *apiextensions.JSONSchemaProps
	// The validators are made when the first object is checked: that takes some milliseconds.
	once   sync.Once
	schema validation.SchemaValidator
	rules  *cel.Validator
	err    error
}

// NewKinds reads definitions. The error names a definition that an API server would refuse.
func NewKinds(crds []*unstructured.Unstructured) (Kinds, error) {
	kinds := make(Kinds)
	for _, object := range crds {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &crd); err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: %w", object.GetName(), err)
		}
		if err := kinds.add(&crd); err != nil {
			return nil, err
		}
	}
	return kinds, nil
}

func (kinds Kinds) add(crd *apiextensionsv1.CustomResourceDefinition) error {
	for _, version := range crd.Spec.Versions {
		if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
			continue
		}
		k := &kind{
			namespaced: crd.Spec.Scope != apiextensionsv1.ClusterScoped,
			hasStatus:  version.Subresources != nil && version.Subresources.Status != nil,
			converts:   version.Served && (crd.Spec.Conversion == nil || crd.Spec.Conversion.Strategy != apiextensionsv1.WebhookConverter),
		}
		if err := k.read(version.Schema.OpenAPIV3Schema); err != nil {
			return fmt.Errorf("CustomResourceDefinition %s, version %s: %w", crd.Name, version.Name, err)
		}
		kinds[schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}] = k
	}
	return nil
}

func (k *kind) read(props *apiextensionsv1.JSONSchemaProps) error {
	k.props = &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, k.props, nil); err != nil {
		return fmt.Errorf("read its schema: %w", err)
	}
	var err error
	if k.structural, err = structuralschema.NewStructural(k.props); err != nil {
		return fmt.Errorf("read its schema: %w", err)
	}
	return nil
}

// Fill sets the defaults of the object's kind. It leaves an object of an unknown kind as it is.
func (kinds Kinds) Fill(object *unstructured.Unstructured) {
	if k := kinds[object.GroupVersionKind()]; k != nil {
		defaulting.PruneNonNullableNullsWithoutDefaults(object.Object, k.structural)
		defaulting.Default(object.Object, k.structural)
	}
}

// Serve converts an object to another version of its kind as the API server does for reads: it drops the fields that
// the version does not have, and sets its defaults. If the kind is unknown, or is converted by a webhook, it returns
// false and changes nothing.
func (kinds Kinds) Serve(object *unstructured.Unstructured, in schema.GroupVersionKind) bool {
	is := object.GroupVersionKind()
	from, to := kinds[is], kinds[in]
	switch {
	case is == in:
		return true
	case is.GroupKind() != in.GroupKind() || from == nil || to == nil || !from.converts || !to.converts:
		return false
	}
	kinds.Fill(object)
	object.SetGroupVersionKind(in)
	pruning.Prune(object.Object, to.structural, true)
	kinds.Fill(object)
	return true
}

// Refusal is why the API server would refuse an object.
type Refusal struct {
	Object *unstructured.Unstructured
	// Reasons begin with the path of a field, in the API server's form.
	Reasons []string
}

// Error names the object and lists all reasons.
func (r *Refusal) Error() string {
	name := r.Object.GetName()
	if namespace := r.Object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("the API server refuses %s %s: %s", r.Object.GetKind(), name, strings.Join(r.Reasons, "; "))
}

// WithoutValues returns the Refusal with only the field and the kind of each mistake, for rules that have to do with
// Secrets. Reasons about the object's name are kept whole, because the Refusal shows the name anyway.
func (r *Refusal) WithoutValues() error {
	reasons := make([]string, len(r.Reasons))
	for i, reason := range r.Reasons {
		if reasons[i] = reason; strings.HasPrefix(reason, "metadata.name: ") {
			continue
		}
		parts := strings.SplitN(reason, ": ", 3) // the field, the kind of the mistake, and the value with the rest
		reasons[i] = strings.Join(parts[:min(len(parts), 2)], ": ")
	}
	return &Refusal{Object: r.Object, Reasons: reasons}
}

// CheckObject returns a *Refusal if the API server would refuse an object; nil if it would not. It checks the metadata
// and, for known kinds, unknown fields, the schema and its validation rules. If the status is a subresource, it is not
// checked, because a write of the object ignores it. old is the object before an update, or nil. Neither object is
// changed.
func (kinds Kinds) CheckObject(ctx context.Context, object, old *unstructured.Unstructured) error {
	written := object.DeepCopy()
	unstructured.RemoveNestedField(written.Object, "metadata", "ownerReferences") // people write them without UIDs
	k := kinds[object.GroupVersionKind()]
	if k == nil {
		return refusalOf(object, checkMetadata(written, object.GetNamespace() != ""))
	}
	w := write{object: written, old: old}
	if k.hasStatus {
		delete(written.Object, "status")
		if old != nil {
			w.status = old.Object["status"]
		}
	}
	kinds.Fill(written)
	reasons, err := k.check(ctx, w)
	if err != nil {
		return fmt.Errorf("check %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return refusalOf(object, append(checkMetadata(written, k.namespaced), reasons...))
}

// CheckStatus is CheckObject for a write of the status subresource. Such a write ignores the rest of the object, so
// CheckObject has to check that.
func (kinds Kinds) CheckStatus(ctx context.Context, object, old *unstructured.Unstructured) error {
	k := kinds[object.GroupVersionKind()]
	if k == nil || !k.hasStatus {
		return nil
	}
	written := object.DeepCopy()
	kinds.Fill(written)
	reasons, err := k.check(ctx, write{object: written, old: old, ofStatus: true})
	if err != nil {
		return fmt.Errorf("check the status of %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return refusalOf(object, reasons)
}

func refusalOf(object *unstructured.Unstructured, reasons []string) error {
	if len(reasons) == 0 {
		return nil
	}
	return &Refusal{Object: object, Reasons: reasons}
}

func checkMetadata(object *unstructured.Unstructured, namespaced bool) (reasons []string) {
	path := field.NewPath("metadata")
	meta, _, unknown, err := objectmeta.GetObjectMetaWithOptions(object.Object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return []string{err.Error()}
	}
	for _, name := range unknown {
		reasons = append(reasons, fmt.Sprintf("unknown field %q", name))
	}
	valid := func(name string, _ bool) []string {
		return syntax.NamesOfKind(object.GroupVersionKind().GroupKind())(name)
	}
	return append(reasons, texts(apivalidation.ValidateObjectMeta(meta, namespaced, valid, path))...)
}

type write struct {
	// object may be changed by the check. old is the object before the write, or nil.
	object, old *unstructured.Unstructured
	// status is the status that the write leaves as it is, for validation rules that read it; nil if there is none.
	status any
	// ofStatus is true if the write changes nothing but the status.
	ofStatus bool
}

// check returns what the schema forbids in the written part. Of the other part, the API server checks only validation
// rules that read it.
func (k *kind) check(ctx context.Context, w write) (reasons []string, err error) {
	if err := k.prepare(); err != nil {
		return nil, err
	}
	object := w.object
	for _, name := range pruning.PruneWithOptions(object.Object, k.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		if !w.ofStatus || strings.HasPrefix(name, "status.") {
			reasons = append(reasons, k.unknownField(name))
		}
	}
	wrong := validation.ValidateCustomResource(nil, object.Object, k.schema)
	wrong = append(wrong, objectmeta.Validate(ctx, nil, object.Object, k.structural, false)...)
	wrong = append(wrong, listtype.ValidateListSetsAndMaps(nil, k.structural, object.Object)...)
	if w.ofStatus {
		wrong = slices.DeleteFunc(wrong, func(err *field.Error) bool { return err.Field != "status" && !strings.HasPrefix(err.Field, "status.") })
	}
	if w.status != nil {
		object.Object["status"] = w.status
	}
	if len(wrong) == 0 {
		var before any
		if w.old != nil {
			before = w.old.Object
		}
		wrong, _ = k.rules.Validate(ctx, nil, k.structural, object.Object, before, celconfig.RuntimeCELCostBudget)
	}
	return append(reasons, texts(wrong)...), nil
}

func (k *kind) prepare() error {
	k.once.Do(func() {
		k.schema, _, k.err = validation.NewSchemaValidator(k.props)
		k.rules = cel.NewValidator(k.structural, true, celconfig.PerCallLimit)
	})
	return k.err
}

// unknownField names a field that the schema does not have, and the field that may have been meant.
func (k *kind) unknownField(path string) string {
	s := k.structural
	steps := strings.Split(path, ".")
	name := steps[len(steps)-1]
	for _, step := range steps[:len(steps)-1] {
		step, _, isItem := strings.Cut(step, "[")
		below, ok := s.Properties[step]
		switch {
		case ok && isItem && below.Items != nil:
			s = below.Items
		case ok && !isItem:
			s = &below
		default:
			return fmt.Sprintf("unknown field %q", path)
		}
	}
	names := slices.Collect(maps.Keys(s.Properties))
	if hint := diagnostic.DidYouMean(name, names); hint != "" {
		return fmt.Sprintf("unknown field %q, %s", path, hint)
	}
	return fmt.Sprintf("unknown field %q", path)
}

func texts(errs field.ErrorList) []string {
	out := make([]string, len(errs))
	for i, err := range errs {
		out[i] = err.Error()
	}
	slices.Sort(out) // parts of the errors come from maps, in random order
	return out
}
