package restmapping

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Kind is what the API server reports about one kind in one version. It is shared between callers and must not be
// changed.
type Kind struct {
	// GVK identifies the kind in rules.
	GVK schema.GroupVersionKind
	// GVR identifies the resource for requests.
	GVR schema.GroupVersionResource
	// Namespaced is true if objects of this kind are in namespaces.
	Namespaced bool
	// Verbs are those of the main resource, such as "watch" and "patch".
	Verbs sets.Set[string]
	// HasStatus is true if there is a /status subresource.
	HasStatus bool
	// Subresources are the names of all subresources, such as "status" and "scale".
	Subresources sets.Set[string]
	// Definition identifies the CustomResourceDefinition of the kind, at one state of its spec. It is zero for built-in
	// kinds and for kinds of an aggregated API server. It is also zero for a kind that a lookup found before Run has
	// seen its definition.
	Definition Definition
}

// Definition is one state of one CustomResourceDefinition.
type Definition struct {
	// UID distinguishes a definition from a deleted one with the same name.
	UID types.UID
	// Generation grows with each change of the definition's spec, including its schemas.
	Generation int64
}

// equal reports whether two states of a kind are the same for every caller.
func (k Kind) equal(o Kind) bool {
	return k.GVR == o.GVR && k.Namespaced == o.Namespaced &&
		k.Verbs.Equal(o.Verbs) && k.Subresources.Equal(o.Subresources) &&
		k.Definition == o.Definition
}

// Change lists the kinds that differ from the last notification. Each list is sorted by group, version and kind.
type Change struct {
	// Added are kinds that were unknown before.
	Added []schema.GroupVersionKind
	// Removed are kinds that the API server no longer has.
	Removed []schema.GroupVersionKind
	// Changed are kinds whose resource, scope, verbs, subresources or definition differ. A schema change counts, and so
	// does a recreated definition; Kind.Definition distinguishes the two.
	Changed []schema.GroupVersionKind
	// Groups are groups whose discovery began or ceased to fail. The result of Missing may differ for unknown kinds of
	// these groups.
	Groups []string
}

// Empty reports whether the change lists nothing.
func (c Change) Empty() bool {
	return len(c.Added) == 0 && len(c.Removed) == 0 && len(c.Changed) == 0 && len(c.Groups) == 0
}

func (c *Change) sort() {
	for _, kinds := range [][]schema.GroupVersionKind{c.Added, c.Removed, c.Changed} {
		slices.SortFunc(kinds, compareGVK)
	}
	slices.Sort(c.Groups)
	c.Groups = slices.Compact(c.Groups)
}

func compareGVK(a, b schema.GroupVersionKind) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Version, b.Version), strings.Compare(a.Kind, b.Kind))
}

// ErrUnknownKind matches every *UnknownKindError.
var ErrUnknownKind = errors.New("unknown kind")

// ErrUnavailable is wrapped by errors which report that discovery of the kind's group failed, and that the kind was not
// known before. The kind may exist.
var ErrUnavailable = errors.New("discovery unavailable")

// UnknownKindError reports that the API server answered, and does not have a kind.
type UnknownKindError struct {
	GVK schema.GroupVersionKind
	// Served are other versions in which the API server has the kind.
	Served []string
}

// Error names the kind and its apiVersion.
func (e *UnknownKindError) Error() string {
	text := fmt.Sprintf("the API server has no kind %s in %s", e.GVK.Kind, e.GVK.GroupVersion())
	if len(e.Served) > 0 {
		text += ", but in version " + strings.Join(e.Served, " and ")
	}
	return text
}

// Is reports whether target is ErrUnknownKind.
func (e *UnknownKindError) Is(target error) bool { return target == ErrUnknownKind }
