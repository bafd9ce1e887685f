package restmapping

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
)

// snapshot is everything known at one time. It is immutable once published.
type snapshot struct {
	kinds map[schema.GroupVersionKind]Kind
	// resources maps each known resource to its kind.
	resources map[schema.GroupVersionResource]schema.GroupVersionKind
	// versions are all group versions that discovery listed, including those without a kind, and those that failed.
	versions sets.Set[schema.GroupVersion]
	// failed are the group versions whose discovery failed this time. Their known kinds are still in kinds.
	failed map[schema.GroupVersion]error
}

// discover discovers everything that the API server has, with two requests if it has aggregated discovery. Groups that
// fail are no error; they are in the snapshot's failed.
func discover(ctx context.Context, client discovery.DiscoveryInterfaceWithContext) (*snapshot, error) {
	groups, lists, err := discovery.ServerGroupsAndResourcesWithContext(ctx, client)
	var partial *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partial) {
		return nil, fmt.Errorf("discover the API server's kinds: %w", err)
	}

	s := &snapshot{
		kinds:     map[schema.GroupVersionKind]Kind{},
		resources: map[schema.GroupVersionResource]schema.GroupVersionKind{},
		versions:  sets.New[schema.GroupVersion](),
		failed:    map[schema.GroupVersion]error{},
	}
	for _, group := range groups {
		for _, version := range group.Versions {
			s.versions.Insert(schema.GroupVersion{Group: group.Name, Version: version.Version})
		}
	}
	for _, list := range lists {
		if err := s.addList(list); err != nil {
			return nil, err
		}
	}
	if partial != nil {
		maps.Copy(s.failed, partial.Groups)
		s.versions.Insert(sets.KeySet(partial.Groups).UnsortedList()...)
	}
	return s, nil
}

func (s *snapshot) addList(list *metav1.APIResourceList) error {
	gv, err := schema.ParseGroupVersion(list.GroupVersion)
	if err != nil {
		return fmt.Errorf("discover group version %q: %w", list.GroupVersion, err)
	}
	s.versions.Insert(gv)
	subresources := map[string]sets.Set[string]{}
	for _, resource := range list.APIResources {
		if name, sub, ok := strings.Cut(resource.Name, "/"); ok {
			if subresources[name] == nil {
				subresources[name] = sets.New[string]()
			}
			subresources[name].Insert(sub)
		}
	}
	for _, resource := range list.APIResources {
		if strings.Contains(resource.Name, "/") || resource.Kind == "" {
			continue
		}
		s.add(Kind{
			GVK:          gv.WithKind(resource.Kind),
			GVR:          gv.WithResource(resource.Name),
			Namespaced:   resource.Namespaced,
			Verbs:        sets.New(resource.Verbs...),
			HasStatus:    subresources[resource.Name].Has("status"),
			Subresources: subresources[resource.Name],
		})
	}
	return nil
}

// add adds a kind. If two resources serve one kind, the first that can be watched wins, or else the first one.
func (s *snapshot) add(k Kind) {
	if other, ok := s.kinds[k.GVK]; ok && (other.Verbs.Has("watch") || !k.Verbs.Has("watch")) {
		return
	}
	s.kinds[k.GVK] = k
	s.resources[k.GVR] = k.GVK
}

// inherit completes a new snapshot: it copies the known kinds of groups that failed, and enters the definitions.
func (s *snapshot) inherit(before *snapshot, definitions map[schema.GroupResource]Definition) {
	if before != nil {
		for _, kind := range before.kinds {
			if _, failed := s.failed[kind.GVK.GroupVersion()]; failed {
				s.add(kind)
			}
		}
	}
	s.enter(before, definitions)
}

// enter enters the definitions. A kind whose definition is not listed keeps the one that it had, so that a recreated
// definition is noticed.
func (s *snapshot) enter(before *snapshot, definitions map[schema.GroupResource]Definition) {
	for gvk, kind := range s.kinds {
		definition, ok := definitions[kind.GVR.GroupResource()]
		if !ok && before != nil {
			definition = before.kinds[gvk].Definition
		}
		kind.Definition = definition
		s.kinds[gvk] = kind
	}
}

func (s *snapshot) identify(definitions map[schema.GroupResource]Definition) *snapshot {
	next := &snapshot{kinds: maps.Clone(s.kinds), resources: s.resources, versions: s.versions, failed: s.failed}
	next.enter(s, definitions)
	return next
}

// diff lists the differences between two snapshots; before may be nil.
func diff(before, after *snapshot) Change {
	if before == nil {
		before = &snapshot{}
	}
	var c Change
	for gvk, kind := range after.kinds {
		old, known := before.kinds[gvk]
		switch {
		case !known:
			c.Added = append(c.Added, gvk)
		case !kind.equal(old):
			c.Changed = append(c.Changed, gvk)
		}
	}
	for gvk := range before.kinds {
		if _, known := after.kinds[gvk]; !known {
			c.Removed = append(c.Removed, gvk)
		}
	}
	for gv := range after.failed {
		if before.failed[gv] == nil {
			c.Groups = append(c.Groups, gv.Group)
		}
	}
	for gv := range before.failed {
		if after.failed[gv] == nil {
			c.Groups = append(c.Groups, gv.Group)
		}
	}
	c.sort()
	return c
}

// missing returns why a kind is not in the snapshot, which is nil before the first discovery.
func (s *snapshot) missing(gvk schema.GroupVersionKind) error {
	if s == nil {
		return fmt.Errorf("look up %s: %w: %w", gvk, ErrUnavailable, errNotAsked)
	}
	for gv, cause := range s.failed {
		if gv.Group == gvk.Group {
			return fmt.Errorf("look up %s: %w: %w", gvk, ErrUnavailable, cause)
		}
	}
	e := &UnknownKindError{GVK: gvk}
	for other := range s.kinds {
		if other.GroupKind() == gvk.GroupKind() {
			e.Served = append(e.Served, other.Version)
		}
	}
	slices.Sort(e.Served)
	return e
}

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

func sorted(kinds map[schema.GroupVersionKind]Kind) []Kind {
	return slices.SortedFunc(maps.Values(kinds), func(a, b Kind) int { return compareGVK(a.GVK, b.GVK) })
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
