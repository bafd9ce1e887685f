package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/refusal"
	"kanon.dev/kanon/engine/apply/server"
)

// Child is one object as it should be, ready to be compared and written. It is made by Writer.Prepare and immutable.
type Child struct {
	// Desired is what is applied: normalised, labelled and annotated, without what the policy ignores.
	fieldset.Desired
	// Owner is for whom it is made.
	Owner mark.Owner

	claims
	// mark is the child's own, and former is true where it has a former one.
	mark   mark.Mark
	former bool

	policy fieldset.Policy
	// source is what the child was prepared from.
	source fieldset.Source
	// takesRetained is true where an orphan that was retained for the owner may be taken over.
	takesRetained bool
	// omitsReference is true where an apply leaves the ownerReference as it is.
	omitsReference bool
	fingerprint    mark.Fingerprint
	// contents are the hashes that the content of the child may have been recorded with; nil where it is not recorded.
	contents []string
}

// Prepare turns a rendered template into a Child: the object is normalised, labelled with rule, parent and node, given
// AnnotationOwner and, when controller is not nil, that controller ownerReference, and fingerprinted. rendered is never
// changed and must have apiVersion, kind, metadata.name and, for a namespaced kind, metadata.namespace. policy says what is
// not as usual.
//
// The error is an *refusal.InvalidError when the object does not fit its schema (unknown fields, wrong types, duplicate keys in a
// list), or when its policy ignores what cannot be ignored in it; any other error (the schema could not be fetched) is worth another try.
func (w *Writer) Prepare(ctx context.Context, rendered *unstructured.Unstructured, owner mark.Owner, controller *metav1.OwnerReference, policy fieldset.Policy) (*Child, error) {
	ref := mark.RefOf(rendered)
	ref.UID = ""
	if ref.Kind == "" || ref.Name == "" || rendered.GetAPIVersion() == "" {
		return nil, &refusal.InvalidError{Ref: ref, Err: errors.New("apiVersion, kind and metadata.name are required")}
	}
	if err := w.reserved.Check(rendered); err != nil {
		return nil, err
	}
	return server.ByNewestSchema(ctx, w.Server, rendered, ref, func() (*Child, error) { return w.prepare(ctx, rendered, owner, controller, policy) })
}

func (w *Writer) prepare(ctx context.Context, rendered *unstructured.Unstructured, owner mark.Owner, controller *metav1.OwnerReference, policy fieldset.Policy) (*Child, error) {
	gvk := rendered.GroupVersionKind()
	kind, err := w.Server.Kind(ctx, gvk)
	if err != nil {
		return nil, err
	}
	normal := policy.Normalised(gvk.GroupKind())
	desired, err := fieldset.NewDesired(kind, kind.Normalise(rendered, w.Server.HasStatus(gvk)), normal.Ignore)
	if err != nil {
		return nil, err
	}
	child := &Child{
		Desired: *desired, Owner: owner, policy: normal, claims: w.claims,
		source: w.sourceOf(kind, rendered, owner, controller, policy),
	}
	if policy.Content {
		if child.contents, err = fieldset.Contents(rendered, policy); err != nil {
			return nil, err
		}
		child.fingerprint.Content = child.contents[0]
	}
	child.mark = w.marks.Add(child.Object, owner, controller)
	if err := w.takeFingerprint(child); err != nil {
		return nil, err
	}
	return child, nil
}

// Outdated reports whether live was last applied as something else than the child, or not at all. Where live does not say
// with what content it was applied, other marks or another normal form count as well.
func (c *Child) Outdated(live *unstructured.Unstructured) bool {
	last, ok := mark.Recorded(live)
	if !ok || last.Content == "" || c.fingerprint.Content == "" {
		return !ok || last.Value != c.fingerprint.Value
	}
	return !slices.Contains(c.contents, last.Content)
}

// Changed reports whether it is certain that live was last applied with another content than the child has.
func (c *Child) Changed(live *unstructured.Unstructured) bool {
	last, ok := mark.Recorded(live)
	return ok && last.Content != "" && c.fingerprint.Content != "" &&
		!slices.Contains(c.contents, last.Content) && last.Value != c.fingerprint.Value
}

// Content identifies what is rendered: it is the same for two children that are the same.
func (c *Child) Content() string { return c.fingerprint.Value }

// takeFingerprint computes hashes and paths of the child's object and writes AnnotationApplied into it.
func (w *Writer) takeFingerprint(c *Child) error {
	value, err := fieldset.Digest(c.Object.Object)
	if err != nil {
		return fmt.Errorf("hash %s: %w", c.Ref, err)
	}
	annotations := mark.EnsureMap(mark.EnsureMap(c.Object.Object, "metadata"), "annotations")
	annotations[mark.AnnotationApplied] = "" // the path belongs to the set, the text does not belong to the hash
	paths, err := c.TakeShape(&w.shapes)
	if err != nil {
		return err
	}
	c.fingerprint.Value, c.fingerprint.Paths = value, paths
	if !c.former {
		c.fingerprint.Value, c.fingerprint.Paths = c.fingerprint.Value[:mark.ValueSize], c.fingerprint.Paths[:mark.PathsSize]
	}
	annotations[mark.AnnotationApplied] = c.appliedText()
	return nil
}

// appliedText is the text of the child's AnnotationApplied.
func (c *Child) appliedText() string {
	if c.former {
		return c.fingerprint.FormerText()
	}
	m := c.mark
	m.Fingerprint = c.fingerprint
	return m.String()
}

// A generated field (Policy.New) has a value that nobody can make a second time. It must not replace one that somebody else, an
// earlier leader of ours or a person, has put there meanwhile. So it is applied to exactly the version of the object that
// lacks it, and where the object is read again before that, the field is checked again.

// onlyVersion is the resourceVersion that an apply is for; empty for any.
func (c *Child) onlyVersion(live *unstructured.Unstructured) string {
	if len(c.policy.New) == 0 {
		return ""
	}
	return live.GetResourceVersion()
}

// generatedConflict is the error of an object that has a value for a generated field by now. The next evaluation keeps it.
func (c *Child) generatedConflict(live *unstructured.Unstructured) error {
	for _, path := range c.policy.New {
		fields := make([]string, len(path))
		for i, step := range path {
			fields[i] = step.Field
		}
		value, found, err := unstructured.NestedFieldNoCopy(live.Object, fields...)
		if err == nil && found && value != nil {
			return &refusal.ReplacedError{Ref: mark.RefOf(live), Err: errors.New(path.String() + " has a value now, which is kept")}
		}
	}
	return nil
}

// content is what is applied to live, as ContentFor has it. If live lacks something, the object as it is now decides.
func (w *Writer) content(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (map[string]any, error) {
	content, missing, err := child.ContentFor(live)
	if err != nil || !missing {
		return content, err
	}
	fresh, err := w.Server.Reread(ctx, gvr, live)
	if err != nil {
		return nil, err
	}
	content, _, err = child.ContentFor(fresh)
	return content, err
}
