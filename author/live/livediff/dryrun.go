package livediff

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kanon.dev/kanon/author/memory"
	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
)

// try sends a dry run for a write of a child or of the parent's status, so that defaults, admission and refusals of the
// API server count. The error is the API server's. If it is no refusal, d.failure has it, too.
//
// The object after the write is sent as a whole, because no dry run can follow another one.
func (d *Differ) try(ctx context.Context, a memory.Attempt, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	isStatus := identity.Of(a.Object) == identity.Of(d.parent)
	switch {
	case !d.writes:
		return nil, nil
	case isStatus && operator.IsStatusManager(a.Manager) && d.parent.GetResourceVersion() != "":
		live = d.parent
	case isStatus || a.Manager != fieldset.Manager || a.Subresource != "":
		return nil, nil
	}
	client := d.options.Client.Resource(a.GVR).Namespace(a.Object.GetNamespace())
	object, verb := a.Object.DeepCopy(), "create"
	var answer *unstructured.Unstructured
	var err error
	switch {
	case live == nil:
		answer, err = tryCreate(ctx, client, object)
		if apply.LacksNamespace(err, object.GetNamespace()) && d.namespaces[object.GetNamespace()] {
			return nil, nil // no dry run can follow that of its Namespace
		}
		if err == nil && a.GVR == operator.NamespacesGVR {
			d.namespaces[object.GetName()] = true
		}
	case live.GetUID() != object.GetUID():
		answer, err = d.tryRecreate(ctx, client, object, live)
	default:
		verb = "update"
		object.SetResourceVersion(live.GetResourceVersion())
		answer, err = client.Update(ctx, object, metav1.UpdateOptions{
			DryRun: []string{metav1.DryRunAll}, FieldManager: a.Manager, FieldValidation: metav1.FieldValidationStrict,
		}, strings.Fields(a.Subresource)...)
	}
	if err != nil {
		return nil, d.judged(ctx, a, verb, err)
	}
	if isStatus { // the parent may be as a file has it, and not as in the cluster
		status := answer.Object["status"]
		answer = a.Object.DeepCopy()
		answer.Object["status"] = status
	}
	return answer, nil
}

// judged returns an error of the API server. It sets d.failure unless the error refuses the object.
func (d *Differ) judged(ctx context.Context, a memory.Attempt, verb string, err error) error {
	refused := apply.OfObject("dry run of", a.Object, err)
	switch {
	case conditions.IsInvalid(refused), errors.As(refused, new(*apply.NamespaceMissingError)), apierrors.IsAlreadyExists(err):
	case apierrors.IsForbidden(err):
		d.failure = d.checkRight(ctx, a, verb, err)
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		conflict := apierrors.NewConflict(a.GVR.GroupResource(), a.Object.GetName(), err)
		d.failure = fmt.Errorf("dry run of %s: others change it all the time; try again: %w", identity.Of(a.Object), conflict)
	default:
		d.failure = d.redacted(refused)
	}
	return err
}

// tryCreate returns the answer to a dry run of a creation.
func tryCreate(
	ctx context.Context, client dynamic.ResourceInterface, object *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	object = object.DeepCopy()
	object.SetResourceVersion("")
	object.SetManagedFields(nil)
	return client.Create(ctx, object, metav1.CreateOptions{
		DryRun: []string{metav1.DryRunAll}, FieldManager: fieldset.Manager, FieldValidation: metav1.FieldValidationStrict,
	})
}

// tryRecreate returns the object that would replace the live one, with its defaults, and without fields that others set
// in the live one.
//
// A dry run of a creation under the object's own name ends with AlreadyExists and returns no object. So the defaults
// come from a creation under another name. If the API server refuses that one, the result is the object as rendered.
func (d *Differ) tryRecreate(
	ctx context.Context, client dynamic.ResourceInterface, whole, live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	object := apply.WithoutAllocated(whole, live)
	if _, err := tryCreate(ctx, client, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	object.SetName(otherName(live.GetName()))
	answer, err := tryCreate(ctx, client, object)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // it would be accepted under its own name
	}
	answer.SetName(live.GetName())
	return d.settled(ctx, answer, whole, live)
}

// otherName returns a name that is unlikely to exist and valid wherever the given one is.
func otherName(name string) string {
	const ending = "-kanondiff"
	return name[:min(len(name), 63-len(ending))] + ending
}

// settled combines the answer to a creation with the rendered fields. Fields that nobody sets get the live object's
// values: what the API server allocates, such as addresses, differs each time and is no change.
func (d *Differ) settled(ctx context.Context, answer, whole, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	kinds, err := d.previewer.Kinds()
	if err != nil {
		return nil, err
	}
	kind, err := kinds.Typed(ctx, live.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	var values [3]*typed.TypedValue
	var sets [3]*fieldpath.Set
	for i, object := range []*unstructured.Unstructured{answer, live, whole} {
		if values[i], err = kind.TypedLive(object); err == nil {
			sets[i], err = values[i].ToFieldSet()
		}
		if err != nil {
			return nil, err
		}
	}
	byOthers := &fieldpath.Set{}
	for _, e := range fieldset.EntriesOf(live) {
		if fields, err := e.Fields(); err == nil && !e.Ours() {
			byOthers = byOthers.Union(fields)
		}
	}
	chosen := sets[0].Intersection(sets[1]).Difference(sets[2]).Difference(byOthers).Leaves()
	settled, err := values[0].Merge(values[1].ExtractItems(chosen, typed.WithAppendKeyFields()))
	if err == nil {
		settled, err = settled.Merge(values[2])
	}
	if err != nil {
		return nil, err
	}
	object, err := kind.Converter.TypedToObject(settled)
	if err != nil {
		return nil, err
	}
	next, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the merged object is a %T", object)
	}
	return next, nil
}

// reason is an error for people, without the object that it is about.
func (d *Differ) reason(err error) string {
	text := d.redacted(err).Error()
	if invalid, ok := errors.AsType[*apply.InvalidError](err); ok {
		text = strings.TrimPrefix(text, invalid.Ref.String()+" is not valid: ")
	}
	return text
}

// redacted removes from an error what it may quote of Secrets.
func (d *Differ) redacted(err error) error {
	if d.options.Program.HasSecrets {
		return conditions.Redact(err)
	}
	return err
}
