package fieldset

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
)

// TakeShape computes the shape of the object, which must be complete except for the text of AnnotationApplied, and
// returns the hash of its paths.
func (d *Desired) TakeShape(known *Shapes) (paths string, err error) {
	if d.shape, d.controller, err = known.of(d); err != nil {
		return "", err
	}
	return hashOf([]byte(d.shape.before + d.controller + d.shape.after)), nil
}

// The children of one template have different values, but the same paths again and again. What depends only on the
// paths is computed once for all of them: whether they fit the schema, the hash of their set, which of them are
// leaves, and whether a given entry in managedFields covers these. Computing it takes ten times as long as finding
// that two objects have one shape, and to decode the entry of a Deployment takes some 3 % of the processor time of a
// change, which checks it once, and twice that of a repair.
//
// The reference to the controller would give the children of each parent a shape of their own, because the API server
// distinguishes references by their UID. So that UID is not part of a shape.

// shape is what the paths of an object determine. It is immutable, except for its cache.
type shape struct {
	// before and after are the hashed text of the paths, around the controller's UID.
	before, after string
	// leaves are the paths that must be covered: those below which nothing else was rendered. If the shape leaves out
	// the controller's UID, the path of the reference to it is missing here.
	leaves *fieldpath.Set

	seed maphash.Seed
	// uncovered caches, by a hash of managedFields entries, the leaves that they do not cover; read-only.
	uncovered bounded[uint64, *fieldpath.Set]
}

// maxVerdicts bounds the cache of a shape. All children have the same entries, except where others took a field.
const maxVerdicts = 64

// hashEntries hashes entries without the controller's UID. ok is false if the UID does not occur in exactly one
// reference, which is then the controller's if that is covered.
func (s *shape) hashEntries(entries []Entry, controller string) (hash uint64, ok bool) {
	h, found := Hasher{Seed: s.seed}, 0
	reference := referenceStart + controller + referenceEnd
	for _, e := range entries {
		text, err := e.Text()
		if err != nil {
			return 0, false
		}
		if controller != "" {
			before, after, cut := strings.Cut(text, reference)
			if cut {
				found++
				hash = h.Join(hash, maphash.String(h.Seed, before))
			}
			if text = after; !cut {
				text = before
			}
			if strings.Contains(after, reference) {
				return 0, false
			}
		}
		hash = h.Join(hash, maphash.String(h.Seed, text))
	}
	return hash, controller == "" || found == 1
}

// Shapes caches shapes. It is safe for concurrent use.
type Shapes struct {
	Seed maphash.Seed
	// known is by a hash and the schema of the kind. Hashes of 64 bits suffice, because the seed is secret: see
	// Writer.sourceOf.
	known bounded[Source, *shape]
}

// maxShapes bounds the cache: a shape takes some 10 KB. A rule that renders other paths for each parent does not
// profit from it.
const maxShapes = 256

// of returns the shape of an object that is complete except for the text of AnnotationApplied, and the controller's
// UID if the shape leaves it out. It fails if the object does not fit its schema.
func (s *Shapes) of(d *Desired) (found *shape, controller string, err error) {
	controller, shared := d.onlyController()
	if d.kind.Deduced || !shared {
		found, err = s.newShape(d, "") // not shared: its paths depend on more than the shape
		return found, "", err
	}
	content := d.Object.Object
	if controller != "" {
		metadata, _ := content["metadata"].(map[string]any)
		metadata, content = maps.Clone(metadata), maps.Clone(content)
		delete(metadata, "ownerReferences")
		content["metadata"] = metadata
	}
	h := Hasher{Seed: s.Seed}
	key := Source{Converter: d.kind.Converter, Hash: h.Join(
		maphash.Comparable(h.Seed, [...]string{d.kind.Version, d.Ref.Kind, strconv.FormatBool(controller != "")}),
		h.shape(d.kind, content, d.kind.root))}
	if found, ok := s.known.get(key); ok {
		return found, controller, nil
	}
	if found, err = s.newShape(d, controller); err != nil {
		return nil, "", err
	}
	if found == nil { // the UID is not in the expected place
		found, err = s.newShape(d, "")
		return found, "", err
	}
	s.known.put(key, found, maxShapes)
	return found, controller, nil
}

// onlyController returns the UID of the controller that the object refers to, or "". ok is false if it refers to
// other objects.
func (d *Desired) onlyController() (uid string, ok bool) {
	metadata, _ := d.Object.Object["metadata"].(map[string]any)
	references, _ := metadata["ownerReferences"].([]any)
	controller := metav1.GetControllerOfNoCopy(d.Object)
	switch {
	case len(references) == 0:
		return "", true
	case len(references) > 1 || controller == nil:
		return "", false
	default:
		return string(controller.UID), true
	}
}

// newShape computes the shape of an object. With a controller, it returns nil if the UID is not in the expected
// place.
func (s *Shapes) newShape(d *Desired, controller string) (*shape, error) {
	set, err := d.Paths()
	if err != nil {
		return nil, err
	}
	text, err := set.ToJSON()
	if err != nil {
		return nil, fmt.Errorf("encode the paths of %s: %w", d.Ref, err)
	}
	hashed := []any{json.RawMessage(text)}
	if d.kind.Deduced {
		hashed = append(hashed, listsOf(d.Object.Object))
	}
	whole, err := MarshalText(hashed)
	if err != nil {
		return nil, fmt.Errorf("encode the paths of %s: %w", d.Ref, err)
	}
	found := &shape{before: whole, leaves: set.Leaves(), seed: s.Seed}
	if controller == "" {
		return found, nil
	}
	path, reference := referencePath(controller), referenceStart+controller+referenceEnd
	if strings.Count(whole, reference) != 1 || !found.leaves.Has(path) {
		return nil, nil
	}
	before, after, _ := strings.Cut(whole, reference)
	found.before, found.after = before+referenceStart, referenceEnd+after
	found.leaves = found.leaves.Difference(fieldpath.NewSet(path))
	return found, nil
}

// In the text of paths, the UID of an ownerReference is between these two.
const (
	referenceStart = `"k:{\"uid\":\"`
	referenceEnd   = `\"}":{}`
)

// referencePath returns the path of the ownerReference with this UID.
func referencePath(uid string) fieldpath.Path {
	return append(referencesPath(), fieldpath.PathElement{Key: fieldpath.KeyByFields("uid", uid)})
}

// eachLeaf calls f with each path that must be covered. f must not keep the path.
func (d *Desired) eachLeaf(f func(fieldpath.Path)) {
	d.shape.leaves.Iterate(f)
	if d.controller != "" {
		f(referencePath(d.controller))
	}
}

// shape hashes everything that the paths of v, which has type ref, and its fit to the schema depend on: the names of
// fields, the types of values, and the keys of list items.
func (h Hasher) shape(k Kind, v any, ref smdschema.TypeRef) uint64 {
	switch v := v.(type) {
	case map[string]any:
		m := k.atom(ref).Map
		sum := maphash.Comparable(h.Seed, [...]int{1, len(v)})
		for name, field := range v {
			sum += h.Join(maphash.String(h.Seed, name), h.shape(k, field, fieldType(m, name)))
		}
		return sum
	case []any:
		return h.listShape(k, v, k.atom(ref).List)
	case string:
		return 2
	case int64:
		return 3
	case bool:
		return 4
	case float64:
		return 5
	default:
		return h.Value(v)
	}
}

func (h Hasher) listShape(k Kind, items []any, list *smdschema.List) uint64 {
	sum := maphash.Comparable(h.Seed, [...]int{6, len(items)})
	if list == nil {
		list = &smdschema.List{}
	}
	keyed := list.ElementRelationship == smdschema.Associative
	for _, item := range items {
		fields, _ := item.(map[string]any)
		for _, key := range list.Keys {
			sum = h.Join(sum, h.Value(fields[key]))
		}
		if keyed && len(list.Keys) == 0 {
			sum = h.Join(sum, h.Value(item))
		}
		sum = h.Join(sum, h.shape(k, item, list.ElementType))
	}
	return sum
}

// bounded is a cache of a limited number of entries. If it is full, a random one makes room, so that more entries than
// fit, used in turn, still profit. It is safe for concurrent use, and its zero value is empty.
type bounded[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]V // guarded by mu
}

func (b *bounded[K, V]) get(key K) (V, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	value, ok := b.entries[key]
	return value, ok
}

// put adds an entry, of which there are at most so many then.
func (b *bounded[K, V]) put(key K, value V, most int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.entries == nil {
		b.entries = make(map[K]V)
	}
	for other := range b.entries { // in random order
		if len(b.entries) < most {
			break
		}
		delete(b.entries, other)
	}
	b.entries[key] = value
}
