package livediff

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"kanon.dev/kanon/author/live/livepreview"
	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
)

// errReplaced reports that an object was deleted, created or replaced by others during the comparison.
var errReplaced = errors.New("it was deleted, created or replaced while it was compared; try again")

// write returns what a write of a rendered object would change; nil if nothing.
func (d *Differ) write(ctx context.Context, p *livepreview.Preview, object preview.Object) (*Change, error) {
	client, ok := d.options.Resource(object.GroupVersionKind(), object.GetNamespace())
	if !ok {
		return &Change{Action: Refused, Object: object.Unstructured, Message: "the cluster does not have the kind"}, nil
	}
	change := &Change{Object: object.Unstructured, before: p.Objects[identity.Of(object.Unstructured)], recreates: object.Recreation != preview.RecreateNever}
	conflicted := false
	err := retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
		if conflicted { // mostly, others have written the status meanwhile
			if change.before, err = reread(ctx, client, change.before); err != nil {
				return err
			}
		}
		conflicted = true
		return d.dryRun(ctx, client, object, change)
	})
	if err != nil {
		return d.failed(ctx, p, object.Unstructured, change, err)
	}
	if change.Action == Updated && change.isEmpty() {
		return nil, nil
	}
	return change, nil
}

// reread reads an object again.
func reread(ctx context.Context, client dynamic.ResourceInterface, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if live == nil {
		return nil, errReplaced
	}
	fresh, err := client.Get(ctx, live.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && fresh.GetUID() != live.GetUID() {
		return nil, errReplaced
	}
	return fresh, asking("get", err)
}

// dryRun fills in what a write would change. Its error is the API server's.
func (d *Differ) dryRun(ctx context.Context, client dynamic.ResourceInterface, object preview.Object, change *Change) (err error) {
	if change.before == nil {
		change.Action = Created
		change.after, err = tryCreate(ctx, client, object.Unstructured)
		return err
	}
	w, err := d.newWriting(ctx, client, object, change.before)
	if err != nil {
		return err
	}
	if object.Recreation != preview.RecreateNow {
		change.Action = Updated
		change.after, err = w.update(ctx)
		if object.Recreation != preview.RecreateIfRefused || !apply.Immutable(err) {
			return err
		}
	}
	change.Action, change.Message = Recreated, object.WhyRecreated
	change.after, err = w.recreate(ctx)
	return err
}

// tryCreate returns the answer to a dry run of a creation.
func tryCreate(ctx context.Context, client dynamic.ResourceInterface, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	answer, err := client.Create(ctx, object.DeepCopy(), metav1.CreateOptions{
		DryRun: []string{metav1.DryRunAll}, FieldManager: fieldset.Manager, FieldValidation: metav1.FieldValidationStrict,
	})
	return answer, asking("create", err)
}

// failed classifies an error: it returns a Change if the API server refuses the object, and an error if a request
// failed.
func (d *Differ) failed(ctx context.Context, p *livepreview.Preview, object *unstructured.Unstructured, change *Change, err error) (*Change, error) {
	const verb = "dry run of"
	refused := apply.OfObject(verb, object, err)
	var (
		missing  *apply.NamespaceMissingError
		mismatch *fieldset.SchemaMismatchError
	)
	switch {
	case errors.As(refused, &missing) && rendersNamespace(p, object.GetNamespace()):
		return &Change{Action: Created, Object: object, Message: "once its namespace exists", after: object}, nil
	case errors.As(err, &mismatch):
		refused = &apply.InvalidError{Ref: mark.RefOf(object), Err: mismatch.Err}
	case errors.As(refused, &missing), conditions.IsInvalid(refused):
	case apierrors.IsForbidden(err):
		if err := d.checkRight(ctx, object, err); err != nil {
			return nil, err
		}
		refused = err
	case apierrors.IsConflict(err):
		return nil, fmt.Errorf("%s %s: others change it all the time; try again: %w", verb, identity.Of(object), err)
	case apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%s %s: %w", verb, identity.Of(object), errReplaced)
	default:
		return nil, d.redacted(refused)
	}
	message := d.reason(refused)
	if change.Action == Recreated {
		message = "it is not recreated, because a new one would be refused: " + message
	}
	return &Change{Action: Refused, Object: object, Message: message, recreates: change.recreates && change.before != nil}, nil
}

// rendersNamespace reports whether the rule renders a Namespace.
func rendersNamespace(p *livepreview.Preview, name string) bool {
	return slices.ContainsFunc(p.Rendered(), func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "Namespace" && o.GetAPIVersion() == "v1" && o.GetName() == name
	})
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
