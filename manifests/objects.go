package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/rules/program"
)

// Objects takes Kubernetes objects out of files of YAML or JSON, those in lists too, such as kubectl prints. Errors name the
// file and the document.
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
	return objects, nil
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
