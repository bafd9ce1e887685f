package program

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/syntax"
)

// identity identifies an object. The version of its API does not matter.
type identity struct {
	group, kind, namespace, name string
}

func identityOf(u *unstructured.Unstructured) identity {
	gvk := u.GroupVersionKind()
	return identity{group: gvk.Group, kind: gvk.Kind, namespace: u.GetNamespace(), name: u.GetName()}
}

// String formats the identity for messages.
func (id identity) String() string {
	if id.namespace == "" {
		return fmt.Sprintf("%s %q", id.kind, id.name)
	}
	return fmt.Sprintf("%s %q", id.kind, id.namespace+"/"+id.name)
}

// objectPlace is where a rendered object belongs.
type objectPlace struct {
	Kind string
	// Namespaced is true if the kind of the object is.
	Namespaced bool
	// Parent is the namespace of the parent. It is empty for a cluster-scoped parent, and in an evaluation for a parent
	// of which only the kind is known; ParentNamespaced distinguishes the two.
	Parent           string
	ParentNamespaced bool
}

// completeObject checks the name and the namespace of an object, and sets the parent's namespace if it has none. The paths of
// problems are below metadata.
func completeObject(object *unstructured.Unstructured, at objectPlace) *Problem {
	metadata, ok := object.Object["metadata"].(map[string]any)
	if !ok {
		return Failure("must be a map")
	}
	if p := checkName(metadata); p != nil {
		return p
	}
	namespace, ok := metadata["namespace"].(string)
	switch {
	case metadata["namespace"] != nil && (!ok || namespace == ""):
		return Failure("must be a string that is not empty").Under("namespace")
	case !at.Namespaced && namespace != "":
		return Failure("%s is cluster-scoped and cannot have a namespace", at.Kind).Under("namespace")
	case !at.Namespaced || namespace != "":
	case at.Parent != "":
		metadata["namespace"] = at.Parent
	case !at.ParentNamespaced:
		return Failure("is needed, because the parent is cluster-scoped").Under("namespace")
	}
	return nil
}

func checkName(metadata map[string]any) *Problem {
	name, ok := metadata["name"].(string)
	switch {
	case metadata["name"] == nil:
		return Failure("is missing").Under("name")
	case !ok:
		return Failure("must be a string, and is %s", TypeOf(metadata["name"])).Advising("make it one with string(…)").Under("name")
	case name == "":
		return Failure("is empty").Under("name")
	case metadata["generateName"] != nil:
		return Failure("would create a new object at every evaluation").Under("generateName")
	}
	return nil
}

func checkPatchFields(fields map[string]any) *Problem {
	for _, name := range []string{"apiVersion", "kind"} {
		if _, there := fields[name]; there {
			return Failure("a patch cannot set it").Under(name)
		}
	}
	metadata, there := fields["metadata"]
	if !there {
		return nil
	}
	inner, ok := metadata.(map[string]any)
	if !ok {
		return Failure("must be a map").Under("metadata")
	}
	for _, name := range append([]string{"name", "namespace", "generateName"}, syntax.ServerFields()...) {
		if _, there := inner[name]; there {
			return Failure("a patch cannot set it").Under("metadata." + name)
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		keys, _ := inner[field].(map[string]any)
		for name := range keys {
			if syntax.IsOwnMark(name) {
				return Failure("a patch cannot set it: it is Kanon's own").Under(fmt.Sprintf("metadata.%s[%s]", field, name))
			}
		}
	}
	return nil
}
