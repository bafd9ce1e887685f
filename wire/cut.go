package wire

import (
	"strings"
	"unique"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// IsWhole tells whether the object has all that the API server sent of it, and not only what Cut left. None is whole.
func (o *Object) IsWhole() bool { return !o.types().cut }

// Exceeds tells whether the object is larger than a number of bytes, about as JSON without the paths of managedFields.
func (o *Object) Exceeds(size int) bool {
	switch {
	case o == nil:
		return false
	case o.tree != nil:
		return left(o.tree.Object, size) < 0
	}
	return o.content.size() > size
}

// left is what a value leaves of a number of bytes. It looks no further than to less than none.
func left(v any, size int) int {
	size--
	switch v := v.(type) {
	case string:
		size -= len(v)
	case map[string]any:
		for name, field := range v {
			if name == "fieldsV1" {
				continue // the paths
			}
			if size = left(field, size-len(name)); size < 0 {
				break
			}
		}
	case []any:
		for _, item := range v {
			if size = left(item, size); size < 0 {
				break
			}
		}
	}
	return size
}

// Cut is the object with nothing but apiVersion, kind and metadata: its Head is the same, and it has no Tree. It shares no
// memory with the whole one, which can be collected.
func (o *Object) Cut() *Object {
	if o == nil || !o.IsWhole() {
		return o
	}
	head := &Object{
		typeMeta:  unique.Make(typeMeta{apiVersion: o.APIVersion(), kind: o.Kind(), cut: true}),
		namespace: o.namespace, name: o.name, uid: o.uid, version: o.version, // which are in strings of their own
		paths: o.paths, marking: o.marking,
	}
	if o.tree != nil {
		metadata := detached(o.tree.Object["metadata"])
		head.tree = &unstructured.Unstructured{Object: map[string]any{"apiVersion": o.APIVersion(), "kind": o.Kind(), "metadata": metadata}}
		for _, text := range []*string{&head.namespace, &head.name, &head.uid, &head.version} {
			*text = strings.Clone(*text)
		}
		return head
	}
	whole, text := o.content.text(), []byte{'{'}
	members(whole, skipSpace(whole, 0), func(start, end, at int) int {
		after := skip(whole, at, 1)
		switch (parser{text: whole}).key(start, end) {
		case "apiVersion", "kind", "metadata":
			if len(text) > 1 {
				text = append(text, ',')
			}
			text = append(append(append(text, whole[start-1:end+1]...), ':'), whole[at:after]...)
		}
		return after
	})
	head.content.data = string(append(text, '}'))
	return head
}

// IsStub tells whether nothing is kept of the object but its type, identity and version: see Stub.
func (o *Object) IsStub() bool { return o.types().stub }

// Stub is the object with nothing but its type, namespace, name, UID and resourceVersion. It stands in a store for an object
// that is to be treated as though it did not exist, and shares no memory with it. Neither its Head nor its Tree may be asked
// for.
func (o *Object) Stub() *Object {
	if o == nil || o.IsStub() {
		return o
	}
	return &Object{
		typeMeta:  unique.Make(typeMeta{apiVersion: o.APIVersion(), kind: o.Kind(), cut: true, stub: true}),
		namespace: strings.Clone(o.namespace), name: strings.Clone(o.name), uid: strings.Clone(o.uid), version: strings.Clone(o.version),
	}
}

// detached is a copy of a value that shares no memory with it.
func detached(v any) any {
	switch v := v.(type) {
	case string:
		return strings.Clone(v)
	case map[string]any:
		fields := make(map[string]any, len(v))
		for name, field := range v {
			fields[strings.Clone(name)] = detached(field)
		}
		return fields
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = detached(item)
		}
		return list
	default:
		return v
	}
}
