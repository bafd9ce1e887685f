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

// Objects takes Kubernetes objects out of files of YAML or JSON, those in lists too, such as kubectl prints. They are as the API server
// returns them: the stringData of a Secret is in its data. Errors name the file and the document.
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

// DistinctObjects is Objects for files that may have each object once. An object without a namespace is taken to be in the one that
// kubectl would put it in.
func DistinctObjects(files []File) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	from := map[identity.ID]string{} // the file that has the object
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

// TwiceError says that an object is given more than once, so that it is not clear how it is.
type TwiceError struct {
	Object identity.ID
	// First and Second are the names of the files that have it, which may be one.
	First, Second string
}

func (e *TwiceError) Error() string {
	if e.First == e.Second {
		return fmt.Sprintf("%s has %s twice: leave one of them out", e.First, e.Object)
	}
	return fmt.Sprintf("%s has %s, and so has %s: leave one of them out", e.Second, e.Object, e.First)
}

// appendObjects adds what a document holds; an empty one holds nothing.
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

// InDefaultNamespace gives objects without a namespace, of kinds that have one, the one that kubectl would give them. Of kinds that
// are not known here, programs say whether they have one.
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
