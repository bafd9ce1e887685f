package watch

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

// ByParent is the name of the index that ByLabels makes.
const ByParent = "parent"

// ByLabels returns the index ByParent, whose value for an object is the values of
// two labels joined by a slash: the rule's id and the parent's UID. An object that
// lacks either is not in the index.
func ByLabels(ruleLabel, parentLabel string) cache.Indexers {
	return cache.Indexers{ByParent: func(item any) ([]string, error) {
		object, ok := item.(*Object)
		if !ok {
			return nil, nil
		}
		obj := object.Head()
		// Not GetLabels, which copies them all for each object and event.
		rule, _, _ := unstructured.NestedString(obj.Object, "metadata", "labels", ruleLabel)
		parent, _, _ := unstructured.NestedString(obj.Object, "metadata", "labels", parentLabel)
		if rule == "" || parent == "" {
			return nil, nil
		}
		return []string{rule + "/" + parent}, nil
	}}
}
