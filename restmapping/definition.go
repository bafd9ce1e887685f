package restmapping

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// customResource has the needed fields of a CustomResourceDefinition. The informer keeps it instead of the object,
// whose schemas can take a megabyte.
type customResource struct {
	metav1.ObjectMeta // only name, uid, resourceVersion, generation
	resource          schema.GroupResource
	kind              string
	namespaced        bool
	served            sets.Set[string] // versions
	established       bool
	terminating       bool
}

func keepCustomResource(item any) (any, error) {
	obj, ok := item.(*unstructured.Unstructured)
	if !ok {
		return item, nil // already transformed
	}
	group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "plural")
	kind, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "kind")
	scope, _, _ := unstructured.NestedString(obj.Object, "spec", "scope")
	c := &customResource{
		ObjectMeta:  keepMeta(obj),
		resource:    schema.GroupResource{Group: group, Resource: plural},
		kind:        kind,
		namespaced:  scope == "Namespaced",
		served:      sets.New[string](),
		established: hasCondition(obj, "Established"),
		terminating: hasCondition(obj, "Terminating"),
	}
	for _, version := range mapsAt(obj, "spec", "versions") {
		if served, _ := version["served"].(bool); served {
			name, _ := version["name"].(string)
			c.served.Insert(name)
		}
	}
	return c, nil
}

// sameKinds reports whether two states of a definition define the same kinds.
func (c *customResource) sameKinds(o *customResource) bool {
	return c.UID == o.UID && c.Generation == o.Generation &&
		c.established == o.established && c.terminating == o.terminating
}

// apiService has the needed fields of an APIService.
type apiService struct {
	metav1.ObjectMeta // only name, uid, resourceVersion, generation
	version           schema.GroupVersion
	// remote is true if another API server serves the group version. Local APIServices add nothing to discovery and the
	// definitions: each built-in group, and each group of a CustomResourceDefinition, has one.
	remote bool
	// available is true if the remote API server answers.
	available bool
}

func keepAPIService(item any) (any, error) {
	obj, ok := item.(*unstructured.Unstructured)
	if !ok {
		return item, nil // already transformed
	}
	group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
	version, _, _ := unstructured.NestedString(obj.Object, "spec", "version")
	service, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "service")
	return &apiService{
		ObjectMeta: keepMeta(obj),
		version:    schema.GroupVersion{Group: group, Version: version},
		remote:     service != nil,
		available:  hasCondition(obj, "Available"),
	}, nil
}

// sameKinds reports whether two states of an APIService stand for the same kinds.
func (s *apiService) sameKinds(o *apiService) bool {
	if !s.remote && !o.remote {
		return true
	}
	return s.UID == o.UID && s.Generation == o.Generation && s.available == o.available
}

func keepMeta(obj *unstructured.Unstructured) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            obj.GetName(),
		UID:             obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(),
		Generation:      obj.GetGeneration(),
	}
}

func hasCondition(obj *unstructured.Unstructured, name string) bool {
	return slices.ContainsFunc(mapsAt(obj, "status", "conditions"), func(c map[string]any) bool {
		return c["type"] == name && c["status"] == string(metav1.ConditionTrue)
	})
}

// mapsAt returns the items of a list that are maps, without copying them.
func mapsAt(obj *unstructured.Unstructured, path ...string) []map[string]any {
	value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, path...)
	items, _ := value.([]any)
	list := make([]map[string]any, 0, len(items))
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			list = append(list, m)
		}
	}
	return list
}
