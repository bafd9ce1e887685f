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

// contribution is what a patch sets in one object, or in all that a selector selects.
type contribution struct {
	patch string
	program.Contribution
}

// contribute takes in what patches set. What a patch set before stays while its values are not known. Objects keep what others
// wrote to them: patches are laid over them when they are read.
func (s *Simulation) contribute(patches []program.PatchOutcome) (changed bool) {
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

// hasTargetOf tells whether two contributions are of one patch to the same objects.
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

// isFor tells whether the contribution is for an object.
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

// patched is an object with what patches set in it.
func (s *Simulation) patched(object *unstructured.Unstructured) *unstructured.Unstructured {
	out := object.DeepCopy()
	for _, c := range s.patches {
		if c.isFor(object) {
			s.lay(object, out.Object, nil, patchset.JoinShared(out, c.Object))
		}
	}
	return out
}

// lay lays rendered fields over those that an object of the kind of another has, as an apply does.
func (s *Simulation) lay(of *unstructured.Unstructured, live, before, rendered map[string]any) {
	var schema *openapi.Schema
	if s.options.Schema != nil {
		schema = s.options.Schema(of.GroupVersionKind())
	}
	overlay.Apply(schema, live, before, rendered)
}
