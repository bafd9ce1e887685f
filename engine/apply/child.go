package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Child is one object as it should be, ready to be compared and written. It is made by Writer.Prepare and immutable.
type Child struct {
	// Desired is what is applied: normalised, labelled and annotated, without what the policy ignores.
	Desired
	// Owner is for whom it is made.
	Owner Owner

	// marks proves whose an object is, mark is the child's own, and isFormer is true where it has a former one.
	marks    *Marks
	mark     mark
	reserved Reserved
	isFormer bool

	policy Policy
	// source is what the child was prepared from.
	source source
	// returning is true where one that was let go may be taken back.
	returning bool
	// omitsReference is true where an apply leaves the ownerReference as it is.
	omitsReference bool
	// isGone and nameOf are as in Options.
	isGone      func(Owner) bool
	nameOf      func(ruleID string) string
	fingerprint fingerprint
	// contents are the hashes that the content of the child may have been recorded with; nil where it is not recorded.
	contents []string
}

// Prepare turns a rendered template into a Child: the object is normalised, labelled with rule, parent and node, given
// AnnotationOwner and, when controller is not nil, that controller ownerReference, and fingerprinted. rendered is never
// changed and must have apiVersion, kind, metadata.name and, for a namespaced kind, metadata.namespace. policy says what is
// not as usual.
//
// The error is an *InvalidError when the object does not fit its schema (unknown fields, wrong types, duplicate keys in a
// list), or when its policy ignores what cannot be ignored in it; any other error (the schema could not be fetched) is worth another try.
func (w *Writer) Prepare(ctx context.Context, rendered *unstructured.Unstructured, owner Owner, controller *metav1.OwnerReference, policy Policy) (*Child, error) {
	ref := RefOf(rendered)
	ref.UID = ""
	if ref.Kind == "" || ref.Name == "" || rendered.GetAPIVersion() == "" {
		return nil, &InvalidError{Ref: ref, Err: errors.New("apiVersion, kind and metadata.name are required")}
	}
	if err := w.reserved.checkObject(rendered); err != nil {
		return nil, err
	}
	child, err := w.prepare(ctx, rendered, owner, controller, policy)
	var mismatch *schemaMismatchError
	if !errors.As(err, &mismatch) {
		return child, err
	}
	// A CRD that has just changed is the likely innocent cause: ask whether the schema is still the newest.
	changed, recheckErr := w.schemas.Recheck(ctx, rendered.GroupVersionKind().GroupVersion())
	if recheckErr != nil {
		return nil, fmt.Errorf("recheck the schema of %s: %w", ref, recheckErr)
	}
	if changed {
		child, err = w.prepare(ctx, rendered, owner, controller, policy)
	}
	if errors.As(err, &mismatch) {
		return nil, &InvalidError{Ref: ref, Err: mismatch.err}
	}
	return child, err
}

func (w *Writer) prepare(ctx context.Context, rendered *unstructured.Unstructured, owner Owner, controller *metav1.OwnerReference, policy Policy) (*Child, error) {
	gvk := rendered.GroupVersionKind()
	kind, err := w.kinds.load(ctx, w.schemas, gvk)
	if err != nil {
		return nil, err
	}
	normal := policy.normalised(gvk.GroupKind())
	desired, err := NewDesired(kind, kind.normalise(rendered, w.hasStatus(gvk)), normal.Ignore)
	if err != nil {
		return nil, err
	}
	child := &Child{
		Desired: *desired, Owner: owner, policy: normal, marks: w.marks, reserved: w.reserved, isGone: w.isGone, nameOf: w.nameOf,
		source: w.sourceOf(kind, rendered, owner, controller, policy),
	}
	if policy.Content {
		if child.contents, err = contents(rendered, policy); err != nil {
			return nil, err
		}
		child.fingerprint.content = child.contents[0]
	}
	child.mark = w.marks.add(child.Object, owner, controller)
	if err := w.takeFingerprint(child); err != nil {
		return nil, err
	}
	return child, nil
}

// schemaMismatchError says that an object does not fit the schema at hand, which may be an old one.
type schemaMismatchError struct{ err error }

func (e *schemaMismatchError) Error() string { return e.err.Error() }
func (e *schemaMismatchError) Unwrap() error { return e.err }

// pathSet validates the object against its schema, as the API server does when it is applied (so duplicate list keys are
// found here), and computes every path of it that managedFields can hold.
func (d *Desired) pathSet() (*fieldpath.Set, error) {
	value, err := d.kind.typed(d.Object)
	if err != nil {
		return nil, err
	}
	set, err := value.ToFieldSet()
	if err != nil {
		return nil, mismatch(d.Object, err)
	}
	return set.Difference(identityPaths()), nil
}

// Validate reports what in an object does not fit the schema, as a *SchemaMismatchError.
func (k kind) Validate(obj *unstructured.Unstructured) error {
	_, err := k.typed(obj)
	return err
}

// typed reads an object by the schema. The error says what does not fit; for a Secret without the value.
func (k kind) typed(obj *unstructured.Unstructured) (*typed.TypedValue, error) {
	value, err := k.converter.ObjectToTyped(obj)
	if err == nil {
		return value, nil
	}
	return nil, mismatch(obj, err)
}

func mismatch(obj *unstructured.Unstructured, err error) error {
	err = oneLine(err)
	if isSecret(obj) {
		before, _, _ := strings.Cut(err.Error(), ", got ")
		err = errors.New(before)
	}
	return &schemaMismatchError{err: err}
}

// identityPaths are the paths that the API server never keeps in managedFields (apimachinery,
// pkg/util/managedfields/internal/stripmeta.go). The set is read-only.
//
//nolint:gochecknoglobals // Built once, at first use, and never changed.
var identityPaths = sync.OnceValue(func() *fieldpath.Set {
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"),
		fieldpath.MakePathOrDie("metadata"))
	for _, field := range []string{
		"name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields",
		"resourceVersion",
	} {
		set.Insert(fieldpath.MakePathOrDie("metadata", field))
	}
	return set
})

// oneLine turns the library's list of errors, one a line, into one line.
func oneLine(err error) error {
	var list typed.ValidationErrors
	if !errors.As(err, &list) {
		return err
	}
	messages := make([]string, len(list))
	for i, e := range list {
		messages[i] = readable(e.Error())
	}
	return errors.New(strings.Join(messages, "; "))
}

// readable makes one of the library's messages fit to be shown: no leading dot, and values without the Go type that
// holds them, as in "expected string, got &value.valueUnstructured{Value:true}".
func readable(message string) string {
	message = strings.TrimPrefix(message, ".")
	before, v, ok := strings.Cut(message, "&value.valueUnstructured{Value:")
	if !ok {
		return message
	}
	return before + strings.TrimSuffix(v, "}")
}

// ensureMap returns the map under key, which it adds when it is not there.
func ensureMap(parent map[string]any, key string) map[string]any {
	if m, ok := parent[key].(map[string]any); ok {
		return m
	}
	m := map[string]any{}
	parent[key] = m
	return m
}
