package trace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/identity"
)

// Kubernetes has no request for the objects that an object owns. So certain kinds are listed in the namespace of the
// owner. For owners of Kubernetes' own kinds these are known; a controller of a custom kind may create objects of any
// kind.

// ofKubernetes has the kinds that Kubernetes' own controllers create for objects of a kind. Its other kinds own
// nothing.
//
//nolint:gochecknoglobals // a constant in all but syntax
var ofKubernetes = map[schema.GroupKind][]schema.GroupVersionKind{
	{Group: "apps", Kind: "Deployment"}:  {{Group: "apps", Version: "v1", Kind: "ReplicaSet"}},
	{Group: "apps", Kind: "ReplicaSet"}:  {{Version: "v1", Kind: "Pod"}},
	{Group: "apps", Kind: "StatefulSet"}: {{Version: "v1", Kind: "Pod"}},
	{Group: "apps", Kind: "DaemonSet"}:   {{Version: "v1", Kind: "Pod"}},
	{Group: "batch", Kind: "CronJob"}:    {{Group: "batch", Version: "v1", Kind: "Job"}},
	{Group: "batch", Kind: "Job"}:        {{Version: "v1", Kind: "Pod"}},
	{Kind: "ReplicationController"}:      {{Version: "v1", Kind: "Pod"}},
}

// isCustom reports whether a kind is not one of Kubernetes' own. The group of a CustomResourceDefinition has a dot;
// Kubernetes' own groups with a dot end in .k8s.io.
func isCustom(kind schema.GroupKind) bool {
	return strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io")
}

// parallel is how many lists are requested at the same time.
const parallel = 8

// ownership finds what objects own. It lists each kind once in a namespace.
type ownership struct {
	options Options
	// listed has the objects of a kind in a namespace, by the UIDs of their owners.
	listed map[place]map[types.UID][]*unstructured.Unstructured
}

// place is a kind in a namespace.
type place struct {
	kind      schema.GroupVersionKind
	namespace string
}

// of returns the objects that name an object as an owner, sorted. hasRules is true if rules select the object: then
// they name its children, and not every kind is searched.
func (w *ownership) of(ctx context.Context, object *unstructured.Unstructured, hasRules bool) ([]*unstructured.Unstructured, error) {
	kind, namespace := object.GroupVersionKind().GroupKind(), object.GetNamespace()
	kinds := ofKubernetes[kind]
	if isCustom(kind) && !hasRules && namespace != "" {
		kinds = w.searched()
	}
	if err := w.list(ctx, kinds, namespace); err != nil {
		return nil, err
	}
	var owned []*unstructured.Unstructured
	for _, kind := range kinds {
		owned = append(owned, w.listed[place{kind, namespace}][object.GetUID()]...)
	}
	sortObjects(owned)
	return owned, nil
}

// searched returns the kinds that a custom controller may create: all namespaced kinds that can be listed, in one
// version each. Events are left out.
func (w *ownership) searched() []schema.GroupVersionKind {
	seen := map[schema.GroupKind]bool{{Kind: "Event"}: true, {Group: "events.k8s.io", Kind: "Event"}: true}
	var kinds []schema.GroupVersionKind
	for _, gvk := range w.options.Kinds.Known() {
		kind, _ := w.options.Kinds.Lookup(gvk)
		if !kind.Namespaced || seen[gvk.GroupKind()] || !kind.Verbs.HasAll("get", "list", "watch") {
			continue
		}
		seen[gvk.GroupKind()] = true
		kinds = append(kinds, gvk)
	}
	return kinds
}

// list lists the kinds that are not listed yet.
func (w *ownership) list(ctx context.Context, kinds []schema.GroupVersionKind, namespace string) error {
	missing := slices.DeleteFunc(slices.Clone(kinds), func(kind schema.GroupVersionKind) bool { return w.listed[place{kind, namespace}] != nil })
	found := make([]map[types.UID][]*unstructured.Unstructured, len(missing))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, kind := range missing {
		group.Go(func() (err error) {
			found[i], err = w.byOwner(ctx, kind, namespace)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, kind := range missing {
		w.listed[place{kind, namespace}] = found[i]
	}
	return nil
}

// byOwner lists a kind. Without the right to, there are no objects.
func (w *ownership) byOwner(ctx context.Context, kind schema.GroupVersionKind, namespace string) (map[types.UID][]*unstructured.Unstructured, error) {
	byOwner := map[types.UID][]*unstructured.Unstructured{}
	resource, ok := w.options.Kinds.Resource(kind)
	if !ok {
		return byOwner, nil
	}
	list, err := w.options.Client.Resource(resource).Namespace(namespace).
		List(ctx, metav1.ListOptions{ResourceVersion: "0"}) // answered from the API server's watch cache
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		return byOwner, nil
	case err != nil:
		return byOwner, fmt.Errorf("list %s: %w", kind.Kind, err)
	}
	for i := range list.Items {
		for _, owner := range list.Items[i].GetOwnerReferences() {
			byOwner[owner.UID] = append(byOwner[owner.UID], &list.Items[i])
		}
	}
	return byOwner, nil
}

// sortObjects sorts by kind and name, so that a tree is always the same.
func sortObjects(objects []*unstructured.Unstructured) {
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(identity.Of(a).String(), identity.Of(b).String())
	})
}
