package restmapping

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Kind is what the API server says about one kind in one version. It is
// shared between callers and must not be changed.
type Kind struct {
	// GVK is the kind as rules name it.
	GVK schema.GroupVersionKind

	// GVR is where requests for objects of this kind go.
	GVR schema.GroupVersionResource

	// Namespaced tells whether objects of this kind live in namespaces.
	Namespaced bool

	// Verbs holds the verbs of the main resource, such as "watch" and "patch".
	Verbs sets.Set[string]

	// HasStatus tells whether there is a /status subresource.
	HasStatus bool

	// Subresources holds the names of all subresources: "status", "scale" and
	// so on, without the resource's own name.
	Subresources sets.Set[string]

	// Definition identifies the CustomResourceDefinition that the kind comes
	// from, at one state of its spec. It is zero for kinds that are built in
	// or served by an aggregated API server, and for a kind that was found by a
	// lookup before Run has seen its definition.
	Definition Definition
}

// Definition is one state of one CustomResourceDefinition.
type Definition struct {
	// UID differs between a definition and another one that was created
	// under the same name after the first was deleted.
	UID types.UID

	// Generation grows with each change of the definition's spec, its schemas
	// included.
	Generation int64
}

// equal tells whether two states of one kind are the same to every caller.
func (k Kind) equal(o Kind) bool {
	return k.GVR == o.GVR && k.Namespaced == o.Namespaced &&
		k.Verbs.Equal(o.Verbs) && k.Subresources.Equal(o.Subresources) &&
		k.Definition == o.Definition
}

// Change tells which kinds differ from what subscribers were last told. Each
// list is sorted by group, version and kind.
type Change struct {
	// Added holds kinds that were not known before.
	Added []schema.GroupVersionKind

	// Removed holds kinds that the API server has no longer.
	Removed []schema.GroupVersionKind

	// Changed holds kinds whose resource, scope, verbs, subresources or
	// definition differ. A schema change counts, and so does a definition that
	// was deleted and created anew; Kind.Definition tells these two apart.
	Changed []schema.GroupVersionKind

	// Identified holds kinds that a lookup had found before their definition was known, and of which all that is new is that it is.
	Identified []schema.GroupVersionKind

	// Groups holds the groups whose discovery has begun to fail, or fails no more: what
	// Missing says of a kind that is not known may differ.
	Groups []string
}

// Empty tells whether the change names no kind at all.
func (c Change) Empty() bool {
	return len(c.Added) == 0 && len(c.Removed) == 0 && len(c.Changed) == 0 && len(c.Identified) == 0 && len(c.Groups) == 0
}

func (c *Change) sort() {
	for _, kinds := range [][]schema.GroupVersionKind{c.Added, c.Removed, c.Changed, c.Identified} {
		slices.SortFunc(kinds, compareGVK)
	}
	slices.Sort(c.Groups)
	c.Groups = slices.Compact(c.Groups)
}

func compareGVK(a, b schema.GroupVersionKind) int {
	if c := strings.Compare(a.Group, b.Group); c != 0 {
		return c
	}
	if c := strings.Compare(a.Version, b.Version); c != 0 {
		return c
	}
	return strings.Compare(a.Kind, b.Kind)
}

// ErrUnknownKind matches every *UnknownKindError.
var ErrUnknownKind = errors.New("unknown kind")

// ErrUnavailable is wrapped by errors that say that discovery of the kind's
// group failed and that nothing is known of it from before: the kind may exist.
var ErrUnavailable = errors.New("discovery unavailable")

// UnknownKindError says that the API server was asked and does not have a kind.
type UnknownKindError struct {
	GVK schema.GroupVersionKind
	// Served are the versions in which the API server has the kind instead.
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

// Is makes errors.Is(err, ErrUnknownKind) true.
func (e *UnknownKindError) Is(target error) bool { return target == ErrUnknownKind }
