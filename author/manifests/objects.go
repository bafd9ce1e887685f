package manifests

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/rules/program"
)

// Objects decodes the Kubernetes objects in YAML or JSON files, including the items of lists. They are as the API
// server returns them: stringData of Secrets is merged into data. Errors name the file and the document.
func Objects(files []File) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, in := range files {
		reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(in.Data)))
		for n := 1; ; n++ {
			document, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				objects, err = appendObjects(objects, document)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: document %d: %w", in.Name, n, err)
			}
		}
	}
	for _, object := range objects {
		object.Object = fieldset.FoldStringData(object)
	}
	return objects, nil
}

// DistinctObjects is Objects, but returns a *TwiceError if an object occurs twice. An object without a namespace counts
// as being in kubectl's default namespace.
func DistinctObjects(files []File) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	from := map[identity.ID]string{} // the file of each object
	for _, file := range files {
		objects, err := Objects([]File{file})
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			id := identity.Of(object)
			id.Namespace = cmp.Or(id.Namespace, metav1.NamespaceDefault)
			if first, twice := from[id]; twice {
				return nil, &TwiceError{Object: identity.Of(object), First: first, Second: file.Name}
			}
			from[id] = file.Name
		}
		all = append(all, objects...)
	}
	return all, nil
}

// TwiceError reports that an object is given more than once.
type TwiceError struct {
	Object identity.ID
	// First and Second are the files that contain it. They may be the same.
	First, Second string
}

func (e *TwiceError) Error() string {
	if e.First == e.Second {
		return fmt.Sprintf("%s has %s twice: leave one of them out", e.First, e.Object)
	}
	return fmt.Sprintf("%s has %s, and so has %s: leave one of them out", e.Second, e.Object, e.First)
}

// appendObjects adds the objects in a document, which may be empty.
func appendObjects(objects []*unstructured.Unstructured, document []byte) ([]*unstructured.Unstructured, error) {
	text, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, fmt.Errorf("not YAML: %w", err)
	}
	if string(text) == "null" {
		return objects, nil
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(text); err != nil {
		return nil, fmt.Errorf("not a Kubernetes object: %w", err)
	}
	if !object.IsList() {
		return append(objects, object), nil
	}
	err = object.EachListItem(func(item runtime.Object) error {
		if u, ok := item.(*unstructured.Unstructured); ok {
			objects = append(objects, u)
		}
		return nil
	})
	return objects, err
}

// InDefaultNamespace sets the namespace "default", as kubectl would, for objects of namespaced kinds that have none.
// For unknown kinds, the programs decide whether they are namespaced.
func (k *Kinds) InDefaultNamespace(programs []*program.Program, objects []*unstructured.Unstructured) {
	namespaced := map[schema.GroupKind]bool{}
	for _, program := range programs {
		parent := program.Parent
		namespaced[parent.GVK.GroupKind()] = parent.Namespaced
		for _, l := range program.Lookups {
			namespaced[l.GVK.GroupKind()] = l.Namespaced
		}
		for _, c := range program.Children {
			namespaced[c.GVK.GroupKind()] = c.Namespaced
		}
		for _, p := range program.Patches {
			if p.Target != nil {
				namespaced[p.GVK.GroupKind()] = p.Target.Namespaced
			}
		}
	}
	for _, object := range objects {
		gvk := object.GroupVersionKind()
		isNamespaced, known := namespaced[gvk.GroupKind()]
		if !known {
			kind, _ := k.kind(gvk)
			isNamespaced = kind.Namespaced
		}
		if object.GetNamespace() == "" && isNamespaced {
			object.SetNamespace(metav1.NamespaceDefault)
		}
	}
}
