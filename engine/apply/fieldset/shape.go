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
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
)

// TakeShape finds the shape of the object, which must be complete but for the text of AnnotationApplied, and returns the
// hash of its paths.
func (d *Desired) TakeShape(known *Shapes) (paths string, err error) {
	if d.shape, d.controller, err = known.of(d); err != nil {
		return "", err
	}
	return hashOf([]byte(d.shape.before + d.controller + d.shape.after)), nil
}

// The children of one template have other values, but the same paths again and again. What only the paths decide is
// computed once for all of them: whether they fit the schema, the hash of their set, which of them are leaves, and whether
// a given entry of managedFields covers these. To compute it takes ten times what it takes to see that two objects are of
// one shape.
//
// The reference to the controller would give the children of each parent a shape of their own, because the API server tells
// references apart by their UID. So that UID is no part of a shape.

// shape is what the paths of an object decide. It is immutable but for what it remembers.
type shape struct {
	// before and after are the text that is hashed of the paths, without the controller's UID in between.
	before, after string
	// leaves are the paths that must be covered, those under which nothing else was rendered; without that of the reference
	// to the controller, where the shape has none of its UID.
	leaves *fieldpath.Set

	seed maphash.Seed
	mu   sync.Mutex
	// uncovered has verdicts on entries of managedFields: the leaves that they do not cover. Guarded by mu.
	uncovered map[uint64]*fieldpath.Set
}

// maxVerdicts bounds what a shape remembers. All children have the same entries, but where others took a field.
const maxVerdicts = 64

// known is what entries with that hash do not cover, where that is known; read-only.
func (s *shape) known(entries uint64) (uncovered *fieldpath.Set, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	uncovered, known = s.uncovered[entries]
	return uncovered, known
}

func (s *shape) remember(entries uint64, uncovered *fieldpath.Set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uncovered == nil || len(s.uncovered) >= maxVerdicts {
		s.uncovered = make(map[uint64]*fieldpath.Set)
	}
	s.uncovered[entries] = uncovered
}

// hashEntries hashes entries without the controller's UID. ok is false where they do not show it as a shape leaves it out:
// in exactly one reference, which is the controller's if that is covered.
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

// Shapes remembers shapes. It is safe for concurrent use.
type Shapes struct {
	Seed maphash.Seed
	mu   sync.Mutex
	// known has at most maxShapes. Guarded by mu.
	known map[shapeKey]*shape
}

// shapeKey identifies a shape by a hash and the schema of the kind. Hashes of 64 bits are enough, see sourceOf.
type shapeKey struct {
	hash      uint64
	converter managedfields.TypeConverter
}

// maxShapes bounds what is remembered: a shape takes some 10 KB. A rule that renders other paths for each parent does not
// profit.
const maxShapes = 256

func (s *Shapes) get(key shapeKey) (*shape, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.known[key]
	return found, ok
}

func (s *Shapes) put(key shapeKey, found *shape) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = make(map[shapeKey]*shape)
	}
	for other := range s.known { // whichever comes first
		if len(s.known) < maxShapes {
			break
		}
		delete(s.known, other)
	}
	s.known[key] = found
}

// of is the shape of an object that is complete but for the text of AnnotationApplied, and the controller's UID where
// the shape has none of it. The error is that the object does not fit its schema.
func (s *Shapes) of(d *Desired) (found *shape, controller string, err error) {
	controller, shared := d.onlyController()
	if d.kind.Deduced || !shared {
		found, err = d.newShape("", s.Seed) // whose paths depend on more than on their shape
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
	key := shapeKey{converter: d.kind.Converter, hash: h.Join(
		maphash.Comparable(h.Seed, [...]string{d.kind.Version, d.Ref.Kind, strconv.FormatBool(controller != "")}),
		h.shape(d.kind, content, d.kind.root))}
	if found, ok := s.get(key); ok {
		return found, controller, nil
	}
	if found, err = d.newShape(controller, s.Seed); err != nil {
		return nil, "", err
	}
	if found == nil { // the kind's schema is of another form
		found, err = d.newShape("", s.Seed)
		return found, "", err
	}
	s.put(key, found)
	return found, controller, nil
}

// onlyController is the UID of the controller that the object refers to, or empty; ok is false where it refers to others.
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

// newShape computes a shape from the object. With a controller it is nil where the UID is not at its place.
func (d *Desired) newShape(controller string, seed maphash.Seed) (*shape, error) {
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
	s := &shape{before: whole, leaves: set.Leaves(), seed: seed}
	if controller == "" {
		return s, nil
	}
	path, reference := referencePath(controller), referenceStart+controller+referenceEnd
	if strings.Count(whole, reference) != 1 || !s.leaves.Has(path) {
		return nil, nil
	}
	before, after, _ := strings.Cut(whole, reference)
	s.before, s.after = before+referenceStart, referenceEnd+after
	s.leaves = s.leaves.Difference(fieldpath.NewSet(path))
	return s, nil
}

// An ownerReference in the text of paths is a UID between these two.
const (
	referenceStart = `"k:{\"uid\":\"`
	referenceEnd   = `\"}":{}`
)

// referencePath leads to the ownerReference with that UID.
func referencePath(uid string) fieldpath.Path {
	return append(referencesPath(), fieldpath.PathElement{Key: fieldpath.KeyByFields("uid", uid)})
}

// eachLeaf calls f with each path that must be covered. f must not keep it.
func (d *Desired) eachLeaf(f func(fieldpath.Path)) {
	d.shape.leaves.Iterate(f)
	if d.controller != "" {
		f(referencePath(d.controller))
	}
}

// shape hashes all that the paths of v depend on, which has type ref, and whether it fits the schema: the names of fields,
// the types of values, and the values that tell the items of a list apart.
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
