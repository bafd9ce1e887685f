package apply

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// Child is one object as it should be, ready to be compared and written. It is created by Writer.Prepare and
// immutable.
type Child struct {
	// Desired is what is applied: normalised, labelled and annotated, without ignored fields.
	fieldset.Desired
	// GVR is the resource of the object.
	GVR schema.GroupVersionResource
	// Owner is for whom the child is created.
	Owner mark.Owner

	options Options
	mark    mark.Mark
	policy  fieldset.Policy
	// source identifies what the child was prepared from.
	source fieldset.Source
	// takesRetained is true if an orphan that was retained for the owner may be taken over.
	takesRetained bool
	fingerprint   mark.Fingerprint
	// contents are the hashes that count as the child's content; nil if the content is not recorded.
	contents []string
}

// Prepare makes a Child of what is wanted: it normalises the object, adds the mark of the owner and the controller
// ownerReference, and computes the fingerprint.
//
// The error is an *InvalidError if the object does not fit its schema (unknown fields, wrong types, duplicate keys in a
// list), or if the policy ignores what cannot be ignored in it. Any other error is worth a retry, such as a failure to
// fetch the schema.
func (w *Writer) Prepare(ctx context.Context, wanted Wanted) (*Child, error) {
	ref := mark.RefOf(wanted.Object)
	ref.UID = ""
	if ref.Kind == "" || ref.Name == "" || wanted.Object.GetAPIVersion() == "" {
		return nil, &InvalidError{Ref: ref, Err: errors.New("apiVersion, kind and metadata.name are required")}
	}
	if err := w.Reserved.Check(wanted.Object); err != nil {
		return nil, err
	}
	return ByNewestSchema(ctx, w.Server, wanted.Object, ref, func() (*Child, error) { return w.prepare(ctx, wanted) })
}

func (w *Writer) prepare(ctx context.Context, wanted Wanted) (*Child, error) {
	gvk := wanted.Object.GroupVersionKind()
	kind, err := w.Server.Kind(ctx, gvk)
	if err != nil {
		return nil, err
	}
	normal := wanted.Policy.Normalised(gvk.GroupKind())
	desired, err := fieldset.NewDesired(kind, kind.Normalise(wanted.Object, w.Server.HasStatus(gvk)), normal.Ignore)
	if err != nil {
		return nil, err
	}
	child := &Child{
		Desired: *desired, GVR: wanted.GVR, Owner: wanted.Owner,
		options: w.Options, policy: normal, source: w.sourceOf(kind, wanted),
	}
	if wanted.Policy.Content {
		if child.contents, err = fieldset.Contents(wanted.Object, wanted.Policy); err != nil {
			return nil, err
		}
		child.fingerprint.Content = child.contents[0]
	}
	child.mark = w.Marks.Add(child.Object, wanted.Owner, wanted.Controller)
	if err := w.takeFingerprint(child); err != nil {
		return nil, err
	}
	return child, nil
}

// takeFingerprint computes the hashes of the child's object and writes AnnotationApplied into it.
func (w *Writer) takeFingerprint(c *Child) error {
	value, err := fieldset.Digest(c.Object.Object)
	if err != nil {
		return fmt.Errorf("hash %s: %w", c.Ref, err)
	}
	annotations := mark.EnsureMap(mark.EnsureMap(c.Object.Object, "metadata"), "annotations")
	annotations[mark.AnnotationApplied] = "" // its path is part of the set, but its text is not part of the hash
	paths, err := c.TakeShape(&w.shapes)
	if err != nil {
		return err
	}
	c.fingerprint.Value, c.fingerprint.Paths = value[:mark.ValueSize], paths[:mark.PathsSize]
	applied := c.mark
	applied.Fingerprint = c.fingerprint
	annotations[mark.AnnotationApplied] = applied.String()
	return nil
}

// isRecordedIn reports whether live has the child's mark, sealed with the current key, and the hashes of what is
// rendered.
func (c *Child) isRecordedIn(live *unstructured.Unstructured) bool {
	m, ok := mark.Of(live)
	return ok && m.SameClaim(c.mark) && m.Value == c.fingerprint.Value &&
		(c.fingerprint.Content == "" || m.Content == c.fingerprint.Content)
}

// Outdated reports whether live was last applied with other content than the child's, or not at all. If live does not
// record its content, other marks or another normal form count as well.
func (c *Child) Outdated(live *unstructured.Unstructured) bool {
	last, ok := mark.Recorded(live)
	if !ok || last.Content == "" || c.fingerprint.Content == "" {
		return !ok || last.Value != c.fingerprint.Value
	}
	return !slices.Contains(c.contents, last.Content)
}

// Changed reports whether live was certainly last applied with other content than the child's.
func (c *Child) Changed(live *unstructured.Unstructured) bool {
	last, ok := mark.Recorded(live)
	return ok && last.Content != "" && c.fingerprint.Content != "" &&
		!slices.Contains(c.contents, last.Content) && last.Value != c.fingerprint.Value
}

// Content identifies what is rendered: two children with the same content have the same.
func (c *Child) Content() string { return c.fingerprint.Value }

// The value of a generated field cannot be generated twice. A new one (Policy.New) must not replace a value that somebody
// else, such as a person or an earlier leader of ours, has set meanwhile. Nor must one that was copied from the object seen
// (Policy.Kept) replace what somebody has set instead. So both are applied to exactly the version of the object that was
// seen. If the object is read again before that, the field is checked again.

// onlyVersion returns the resourceVersion that an apply is limited to; empty for any.
func (c *Child) onlyVersion(live *unstructured.Unstructured) string {
	if len(c.policy.New) == 0 && len(c.policy.Kept) == 0 {
		return ""
	}
	return live.GetResourceVersion()
}

// generatedConflict returns an error if live has a value for a new generated field by now, or another one than was kept.
// The next evaluation keeps that value.
func (c *Child) generatedConflict(live *unstructured.Unstructured) error {
	for _, path := range c.policy.New {
		if value := valueAt(live, path); value != nil {
			return &ReplacedError{Ref: mark.RefOf(live), Err: errors.New(path.String() + " has a value now, which is kept")}
		}
	}
	for _, path := range c.policy.Kept {
		if kept := valueAt(c.Object, path); kept != nil && !reflect.DeepEqual(kept, valueAt(live, path)) {
			return &ReplacedError{Ref: mark.RefOf(live), Err: errors.New(path.String() + " has changed meanwhile")}
		}
	}
	return nil
}

// valueAt returns the value of a field; nil if there is none.
func valueAt(object *unstructured.Unstructured, path fieldset.Path) any {
	fields := make([]string, len(path))
	for i, step := range path {
		fields[i] = step.Field
	}
	value, _, err := unstructured.NestedFieldNoCopy(object.Object, fields...)
	if err != nil {
		return nil
	}
	return value
}
