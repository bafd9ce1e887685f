package simulation

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"kanon.dev/kanon/engine/apply/patchset"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/offline/overlay"
	"kanon.dev/kanon/rules/program"
)

// contribution is what a patch sets in one object, or in all objects that a selector matches.
type contribution struct {
	patch string
	program.Contribution
}

// contribute records what patches set. While the values of a patch are unknown, its previous contributions stay. The
// objects themselves keep what others wrote: patched lays the contributions over an object when it is read.
func (s *Simulation) contribute(patches []program.PatchResult) (changed bool) {
	var next []contribution
	for _, patch := range patches {
		if patch.State == program.StateWaiting || patch.State == program.StateFailed || patch.Unknown {
			next = append(next, slices.DeleteFunc(slices.Clone(s.patches), func(c contribution) bool { return c.patch != patch.ID })...)
			continue
		}
		for _, given := range patch.Contributions {
			c := contribution{patch.ID, given}
			if c.Object == nil {
				i := slices.IndexFunc(s.patches, c.hasTargetOf)
				if i < 0 {
					continue
				}
				c = s.patches[i]
			}
			next = append(next, c)
		}
	}
	isSame := slices.EqualFunc(s.patches, next, func(a, b contribution) bool {
		return a.hasTargetOf(b) && equality.Semantic.DeepEqual(a.Object.Object, b.Object.Object)
	})
	s.patches = next
	return !isSame
}

// hasTargetOf reports whether two contributions belong to one patch and have the same target.
func (c contribution) hasTargetOf(other contribution) bool {
	selector := func(t program.Target) string {
		if t.Selector == nil {
			return ""
		}
		return t.Selector.String()
	}
	a, b := c.Target, other.Target
	return c.patch == other.patch && a.Name == b.Name && a.Namespace == b.Namespace && a.AllNamespaces == b.AllNamespaces && selector(a) == selector(b)
}

// isFor reports whether the contribution applies to an object.
func (c contribution) isFor(object *unstructured.Unstructured) bool {
	id := identity.Of(object)
	if id.GroupKind != c.Object.GroupVersionKind().GroupKind() || !c.Target.AllNamespaces && c.Target.Namespace != id.Namespace {
		return false
	}
	if c.Target.Name != "" {
		return c.Target.Name == id.Name
	}
	return c.Target.Selector != nil && c.Target.Selector.Matches(labels.Set(object.GetLabels()))
}

// patched is a copy of an object with the contributions of patches.
func (s *Simulation) patched(object *unstructured.Unstructured) *unstructured.Unstructured {
	out := object.DeepCopy()
	for _, c := range s.patches {
		if c.isFor(object) {
			s.lay(object, out.Object, nil, patchset.JoinShared(out, c.Object))
		}
	}
	return out
}

// lay applies rendered fields over the live ones, as a server-side apply does. The schema is that of the kind of the
// object "of".
func (s *Simulation) lay(of *unstructured.Unstructured, live, before, rendered map[string]any) {
	var schema *openapi.Schema
	if s.options.Schema != nil {
		schema = s.options.Schema(of.GroupVersionKind())
	}
	overlay.Apply(schema, live, before, rendered)
}
