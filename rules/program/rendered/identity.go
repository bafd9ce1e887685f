package rendered

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/program/template"
)

// Identity identifies an object. The version of its API does not matter.
type Identity struct {
	group, kind, namespace, name string
}

// IdentityOf is the identity of an object.
func IdentityOf(u *unstructured.Unstructured) Identity {
	gvk := u.GroupVersionKind()
	return Identity{group: gvk.Group, kind: gvk.Kind, namespace: u.GetNamespace(), name: u.GetName()}
}

// String formats the identity for messages.
func (id Identity) String() string {
	if id.namespace == "" {
		return fmt.Sprintf("%s %q", id.kind, id.name)
	}
	return fmt.Sprintf("%s %q", id.kind, id.namespace+"/"+id.name)
}

// Place is where a rendered object belongs.
type Place struct {
	Kind string
	// Namespaced is true if the kind of the object is.
	Namespaced bool
	// Parent is the namespace of the parent. It is empty for a cluster-scoped parent, and in an evaluation for a parent
	// of which only the kind is known; ParentNamespaced distinguishes the two.
	Parent           string
	ParentNamespaced bool
}

// Complete checks the name and the namespace of an object, and sets the parent's namespace if it has none. The paths of
// problems are below metadata.
func Complete(object *unstructured.Unstructured, at Place) *template.Problem {
	metadata, ok := object.Object["metadata"].(map[string]any)
	if !ok {
		return template.Failure("must be a map")
	}
	if p := checkName(metadata); p != nil {
		return p
	}
	namespace, ok := metadata["namespace"].(string)
	switch {
	case metadata["namespace"] != nil && (!ok || namespace == ""):
		return template.Failure("must be a string that is not empty").Under("namespace")
	case !at.Namespaced && namespace != "":
		return template.Failure("%s is cluster-scoped and cannot have a namespace", at.Kind).Under("namespace")
	case !at.Namespaced || namespace != "":
	case at.Parent != "":
		metadata["namespace"] = at.Parent
	case !at.ParentNamespaced:
		return template.Failure("is needed, because the parent is cluster-scoped").Under("namespace")
	}
	return nil
}

func checkName(metadata map[string]any) *template.Problem {
	name, ok := metadata["name"].(string)
	switch {
	case metadata["name"] == nil:
		return template.Failure("is missing").Under("name")
	case !ok:
		return template.Failure("must be a string, and is %s", template.TypeOf(metadata["name"])).Advising("make it one with string(…)").Under("name")
	case name == "":
		return template.Failure("is empty").Under("name")
	case metadata["generateName"] != nil:
		return template.Failure("would create a new object at every evaluation").Under("generateName")
	}
	return nil
}
