package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/patchset"
)

// What a rule renders may follow from texts of its parents, which others write. In Kanon's own namespace such a text could
// become a rule that acts cluster-wide, or pass for what Kanon itself keeps there. So no child and no patch is written there
// that would be read as one of these, whatever rule renders it.

// Reserved says which objects no rule may write. The zero value reserves none.
type Reserved struct {
	// Namespace is Kanon's own.
	Namespace string
	// Labels select what Kanon reads there: rules, and its records.
	Labels []string
	// Prefixes and Names are those of objects that Kanon keeps there, by their kinds.
	Prefixes map[schema.GroupKind]string
	Names    map[schema.GroupKind]string
	// Kinds are those of which Kanon reads all objects there.
	Kinds []schema.GroupKind
}

// errReserved is the reason of an InvalidError for an object that no rule may write.
var errReserved = errors.New("no rule may write what Kanon itself reads in its own namespace")

// check fails for an object that no rule may write. labels reports whether it has a label.
func (r Reserved) check(ref mark.Ref, hasLabel func(string) bool) error {
	if r.Namespace == "" || ref.Namespace != r.Namespace {
		return nil
	}
	gk := schema.GroupKind{Group: ref.Group, Kind: ref.Kind}
	prefix, prefixed := r.Prefixes[gk]
	reason := ""
	if slices.Contains(r.Kinds, gk) {
		reason = "it is a " + gk.String()
	}
	for _, label := range r.Labels {
		if hasLabel(label) {
			reason = "it has the label " + label
		}
	}
	switch {
	case prefixed && strings.HasPrefix(ref.Name, prefix):
		reason = "its name begins with " + prefix
	case r.Names[gk] != "" && r.Names[gk] == ref.Name:
		reason = "its name is " + ref.Name
	}
	if reason == "" {
		return nil
	}
	return &InvalidError{Ref: ref, Err: fmt.Errorf("%w: %s; render it into another namespace, or without that", errReserved, reason)}
}

// checkObject is check of an object as it is or would be.
func (r Reserved) checkObject(obj *unstructured.Unstructured) error {
	return r.check(mark.RefOf(obj), func(label string) bool {
		_, ok := mark.MetadataString(obj, "labels", label)
		return ok
	})
}

// checkPatch is check of what a patch changes.
func (r Reserved) checkPatch(p Patch) error {
	if p.Content == nil {
		return nil // the patch is removed
	}
	if err := r.checkObject(p.Object); err != nil {
		return err
	}
	return r.check(mark.RefOf(p.Object), p.Content.SetsLabel)
}

// MayPatch fails for an object that no rule may write, whatever the rule says.
func (w *Writer) MayPatch(live *unstructured.Unstructured) error { return w.reserved.checkObject(live) }

// MayContribute fails for what no rule may set in a target, whatever the target is now. part is nil where what it sets is not
// known.
func (w *Writer) MayContribute(kind schema.GroupKind, target types.NamespacedName, part *patchset.Part) error {
	return w.reserved.check(mark.Ref{Group: kind.Group, Kind: kind.Kind, Namespace: target.Namespace, Name: target.Name}, part.SetsLabel)
}
