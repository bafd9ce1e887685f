package watch

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"
	"sync/atomic"
	"unique"
	"unsafe"
	"weak"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Object is one object as the API server sent it. It is immutable, but for Tagged. All methods but that and those of
// runtime.Object may be called on nil, which stands for no object.
type Object struct {
	typeMeta unique.Handle[typeMeta]
	// The identity is in strings of its own, so that whoever keeps a name or a UID does not keep the whole text.
	namespace, name, uid, version string
	// content is the object as JSON, in which the fieldsV1 of each entry of managedFields is an index of paths.
	content content
	paths   []paths
	// tree is the object where it did not come as JSON; nil otherwise.
	tree *unstructured.Unstructured
	// marking is a hash of the labels, annotations and owner references, of this process; zero is unknown.
	marking uint64
	// tag is what Tagged gave it. Those of alike objects share it.
	tag unique.Handle[string]
	// whole and meta are what Shared and Head returned last.
	whole, meta remembered
}

// remembered is a tree for as long as somebody holds it, or the garbage collector has not come by.
type remembered struct {
	at atomic.Pointer[weak.Pointer[unstructured.Unstructured]]
}

// tree is what is remembered; nil for nothing.
func (r *remembered) tree() *unstructured.Unstructured {
	if at := r.at.Load(); at != nil {
		return at.Value()
	}
	return nil
}

// or returns the tree, or makes it.
func (r *remembered) or(read func() *unstructured.Unstructured) *unstructured.Unstructured {
	if tree := r.tree(); tree != nil {
		return tree
	}
	tree := read()
	at := weak.Make(tree)
	r.at.Store(&at)
	return tree
}

type typeMeta struct {
	apiVersion, kind string
	// stub is true of an object that has nothing but its identity and version.
	stub bool
}

var errMalformed = errors.New("it is not a JSON object as the API server writes it")

// Decode reads an object from JSON, which it does not keep.
func Decode(data []byte) (*Object, error) { return decode(data, typeMeta{}) }

// decode reads an object from JSON; implied is its type where the JSON does not say it, as in lists.
func decode(data []byte, implied typeMeta) (*Object, error) {
	buffer, _ := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	r := reader{text: unsafe.String(unsafe.SliceData(data), len(data)), typeMeta: implied, out: (*buffer)[:0]}
	o, err := r.read()
	*buffer = r.out
	return o, err
}

// decodeInPlace is Decode for who needs the whole object at once: the object shares the memory of data, which must not be
// changed any more.
func decodeInPlace(data []byte) (*Object, error) {
	r := reader{text: unsafe.String(unsafe.SliceData(data), len(data)), inPlace: true}
	return r.read()
}

// Of is an object that is there as a tree, which must not be changed any more; nil for nil.
func Of(tree *unstructured.Unstructured) *Object {
	if tree == nil {
		return nil
	}
	return &Object{
		typeMeta:  unique.Make(typeMeta{apiVersion: tree.GetAPIVersion(), kind: tree.GetKind()}),
		namespace: tree.GetNamespace(), name: tree.GetName(),
		uid: string(tree.GetUID()), version: tree.GetResourceVersion(),
		tree: tree,
	}
}

// reader reads one object from a text, of which it keeps nothing unless inPlace is true.
type reader struct {
	text                          string
	typeMeta                      typeMeta
	namespace, name, uid, version string
	paths                         []paths
	marking                       uint64
	// inPlace is true if the object is to have the text itself, with paths.
	inPlace bool
	// out is the text up to the index copied, without paths.
	out    []byte
	copied int
}

// read reads the whole text.
func (r *reader) read() (*Object, error) {
	start := skipSpace(r.text, 0)
	end := members(r.text, start, r.member)
	if start >= len(r.text) || r.text[start] != '{' || end < 0 || skipSpace(r.text, end) != len(r.text) {
		return nil, errMalformed
	}
	if r.typeMeta.kind == "" {
		return nil, fmt.Errorf("an object without a kind: %w", errMalformed)
	}
	return r.object(), nil
}

// object is what was read.
func (r *reader) object() *Object {
	text := r.text
	if !r.inPlace {
		r.out = append(r.out, r.text[r.copied:]...)
		text = string(r.out)
	}
	o := &Object{typeMeta: unique.Make(r.typeMeta), paths: r.paths, content: content{data: text}, marking: r.marking}
	all := strings.Join([]string{r.namespace, r.name, r.uid, r.version}, "")
	for _, part := range []struct {
		to   *string
		size int
	}{{&o.namespace, len(r.namespace)}, {&o.name, len(r.name)}, {&o.uid, len(r.uid)}, {&o.version, len(r.version)}} {
		*part.to, all = all[:part.size], all[part.size:]
	}
	return o
}

// key returns a key of the text, as the parser reads it.
func (r *reader) key(start, end int) string {
	if key := r.text[start:end]; strings.IndexByte(key, '\\') < 0 {
		return key
	}
	return parser{text: r.text}.key(start, end)
}

// member reads a field of the object.
func (r *reader) member(start, end, at int) int {
	switch r.key(start, end) {
	case "apiVersion":
		return r.string(at, &r.typeMeta.apiVersion)
	case "kind":
		return r.string(at, &r.typeMeta.kind)
	case "metadata":
		r.namespace, r.name, r.uid, r.version, r.marking = "", "", "", "", 0 // also where another came before
		if at < len(r.text) && r.text[at] == '{' {
			return members(r.text, at, r.metadata)
		}
	}
	return skip(r.text, at, 1)
}

// metadata reads a field of the metadata.
func (r *reader) metadata(start, end, at int) int {
	switch r.key(start, end) {
	case "namespace":
		return r.string(at, &r.namespace)
	case "name":
		return r.string(at, &r.name)
	case "uid":
		return r.string(at, &r.uid)
	case "resourceVersion":
		return r.string(at, &r.version)
	case "managedFields":
		if at < len(r.text) && r.text[at] == '[' {
			return items(r.text, at, func(at int) int {
				if at >= len(r.text) || r.text[at] != '{' {
					return -1
				}
				return members(r.text, at, r.entry)
			})
		}
	}
	after := skip(r.text, at, 2)
	switch r.key(start, end) {
	case "labels", "annotations", "ownerReferences":
		if after >= 0 && !r.inPlace { // in order: of two fields with one name, the last counts
			r.marking = maphash.Comparable(seed, [...]uint64{r.marking, maphash.String(seed, r.text[start:after])})
		}
	}
	return after
}

// entry reads a field of an entry of managedFields.
func (r *reader) entry(start, end, at int) int {
	after := skip(r.text, at, 4)
	if after < 0 || r.key(start, end) != "fieldsV1" || r.text[at:after] == "null" {
		return after
	}
	switch {
	case r.text[at] != '{':
		return -1
	case r.inPlace:
		return after
	}
	r.out = append(r.out, r.text[r.copied:at]...)
	r.out = strconv.AppendInt(r.out, int64(len(r.paths)), 10)
	r.copied = after
	r.paths = append(r.paths, pathsOf(r.text[at:after]))
	return after
}

// string reads a string, or nothing where null stands for it.
func (r *reader) string(at int, to *string) int {
	after := skip(r.text, at, 2)
	switch {
	case after < 0:
		return -1
	case r.text[at] == '"':
		*to = unquote(r.text[at:after])
	case r.text[at:after] != "null":
		return -1
	default:
		*to = "" // also where a name came before
	}
	return after
}

// APIVersion is the object's.
func (o *Object) APIVersion() string { return o.types().apiVersion }

// Kind is the object's.
func (o *Object) Kind() string { return o.types().kind }

func (o *Object) types() typeMeta {
	if o == nil || o.typeMeta == (unique.Handle[typeMeta]{}) {
		return typeMeta{}
	}
	return o.typeMeta.Value()
}

// Namespace is the object's; empty for a cluster-scoped one.
func (o *Object) Namespace() string { return o.orNone().namespace }

// Name is the object's.
func (o *Object) Name() string { return o.orNone().name }

// UID is the object's.
func (o *Object) UID() types.UID { return types.UID(o.orNone().uid) }

// ResourceVersion is the object's.
func (o *Object) ResourceVersion() string { return o.orNone().version }

// seed is for hashes of this process: nobody can look for two texts with one hash.
//
//nolint:gochecknoglobals // All objects are compared with one another.
var seed = maphash.MakeSeed()

// SameMarking reports whether two states of one object certainly have the same labels, annotations and owner references. It
// costs nothing.
func (o *Object) SameMarking(other *Object) bool {
	return o != nil && other != nil && o.uid == other.uid && o.marking == other.marking && o.marking != 0
}

// Tagged gives the object a text of its keeper's, by which it can be told without being read, and returns it. It is for
// who has the object alone, as it is not safe for concurrent use with anything.
func (o *Object) Tagged(tag string) *Object {
	o.tag = unique.Make(tag)
	return o
}

// Tag is what Tagged gave the object; empty where that was nothing.
func (o *Object) Tag() string {
	if o == nil || o.tag == (unique.Handle[string]{}) {
		return ""
	}
	return o.tag.Value()
}

func (o *Object) orNone() *Object {
	if o == nil {
		return &Object{}
	}
	return o
}

// IsStub reports whether nothing is kept of the object but its type, identity and version: see Stub.
func (o *Object) IsStub() bool { return o.types().stub }

// Stub returns the object with nothing but its type, namespace, name, UID and resourceVersion. In a store, it stands for
// an object that is treated as though it did not exist. It shares no memory with the object. It has no Head and no Tree.
func (o *Object) Stub() *Object {
	if o == nil || o.IsStub() {
		return o
	}
	return &Object{
		typeMeta:  unique.Make(typeMeta{apiVersion: o.APIVersion(), kind: o.Kind(), stub: true}),
		namespace: strings.Clone(o.namespace), name: strings.Clone(o.name), uid: strings.Clone(o.uid), version: strings.Clone(o.version),
	}
}

// Tree returns the whole object; nil for nil. It is read-only: an object that did not come as JSON shares its tree. It
// panics for a stub, so that nobody takes what is not kept for absent.
func (o *Object) Tree() *unstructured.Unstructured {
	switch {
	case o == nil:
		return nil
	case o.IsStub():
		panic("only the identity of this object is kept: " + o.Kind() + " " + o.namespace + "/" + o.name)
	case o.tree != nil:
		return o.tree
	}
	return &unstructured.Unstructured{Object: o.fields(false)}
}

// Shared is Tree for objects that several readers read at about the same time: they get the same tree.
func (o *Object) Shared() *unstructured.Unstructured {
	if o == nil || o.tree != nil {
		return o.Tree()
	}
	return o.whole.or(o.Tree)
}

// Head returns the object with at least apiVersion, kind and metadata; nil for nil. It is read-only, and shared like the
// result of Shared. It panics for a stub.
func (o *Object) Head() *unstructured.Unstructured {
	if o == nil || o.IsStub() || o.tree != nil {
		return o.Tree()
	}
	if whole := o.whole.tree(); whole != nil {
		return whole
	}
	return o.meta.or(func() *unstructured.Unstructured { return &unstructured.Unstructured{Object: o.fields(true)} })
}

// DeepCopyObject implements runtime.Object: what cannot change is its own copy.
func (o *Object) DeepCopyObject() runtime.Object { return o }

// Memory returns about how many bytes the object takes, without what it shares with others of its kind.
func (o *Object) Memory() int {
	if o == nil {
		return 0
	}
	size := int(unsafe.Sizeof(*o)) + len(o.namespace) + len(o.name) + len(o.uid) + len(o.version) + len(o.content.data) +
		len(o.paths)*int(unsafe.Sizeof(paths{}))
	if o.tree != nil {
		size += sizeOf(o.tree.Object)
	}
	return size
}

// sizeOf returns about how many bytes a value takes, without the paths of managedFields.
func sizeOf(v any) int {
	size := 1
	switch v := v.(type) {
	case string:
		size += len(v)
	case map[string]any:
		for name, field := range v {
			if name != "fieldsV1" {
				size += len(name) + sizeOf(field)
			}
		}
	case []any:
		for _, item := range v {
			size += sizeOf(item)
		}
	}
	return size
}
