package watch

import (
	"fmt"
	"maps"
	"math"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	labelop "k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/queue"
)

// Readers is the inverse of lookups: it knows which parents read an object, by its name or by a selection that contains
// it. An event asks it which keys to enqueue. That costs a few lookups by name and by label, however many parents there
// are.
//
// A reader registers before it reads, so that it misses no change in between. What its newest reconcile did not read is
// dropped afterwards.
type Readers struct {
	informers Informers

	mu sync.RWMutex
	// audiences has the readers of each informer. Guarded by mu.
	audiences map[Key]*audience
	// reads has what each parent reads. Guarded by mu.
	reads map[queue.Key]map[Subject]bool
}

// Informers starts and stops informers: from now on, owner needs exactly these.
type Informers interface {
	Watch(owner string, informers ...Key)
}

// Subject is what a lookup reads through an informer: one object, or all objects that a selector selects.
type Subject struct {
	Informer Key
	// Namespace is empty for a cluster-scoped object, and for a selection over all namespaces.
	Namespace string
	// Name is empty for a selection. Selector, in string form, is empty for an object.
	Name, Selector string
	// Members is true for a selection of which only the names are read: its readers are not enqueued for a change of an
	// object that stays selected.
	Members bool
	// Borrowed is true if no rule needs the informer at its start, because only a reconcile shows which namespace the
	// parent reads, such as for Secrets. The first reader starts the informer, and it is stopped after the last one.
	Borrowed bool
}

// audience has the readers of one informer.
type audience struct {
	// borrowed is true if the informer was started for a reader.
	borrowed   bool
	objects    map[types.NamespacedName]queue.Keys
	selections map[Subject]*following
	// anchored has each selection under one of the labels that it requires, or under none if it requires no label. So
	// an event checks few selections, even if each parent has its own.
	anchored map[anchor]map[*following]bool
}

// following is one selection and its readers.
type following struct {
	selector labels.Selector
	members  bool
	keys     queue.Keys
	anchors  []anchor // its places in anchored
}

// anchor is a label with its value, or none, in objects of one namespace or of all.
type anchor struct{ namespace, label, value string }

// NewReaders makes empty Readers.
func NewReaders(informers Informers) *Readers {
	return &Readers{informers: informers, audiences: make(map[Key]*audience), reads: make(map[queue.Key]map[Subject]bool)}
}

// Add registers a parent as a reader. selector is that of a selection. Check only afterwards whether a borrowed
// informer has synced: then its synced call finds the reader.
func (r *Readers) Add(k queue.Key, s Subject, selector labels.Selector) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reads[k][s] {
		return
	}
	if r.reads[k] == nil {
		r.reads[k] = make(map[Subject]bool, 1)
	}
	r.reads[k][s] = true
	a := r.audiences[s.Informer]
	if a == nil {
		a = &audience{
			objects:    make(map[types.NamespacedName]queue.Keys),
			selections: make(map[Subject]*following),
			anchored:   make(map[anchor]map[*following]bool),
		}
		r.audiences[s.Informer] = a
	}
	if s.Borrowed && !a.borrowed {
		a.borrowed = true
		r.informers.Watch(ownerOf(s.Informer), s.Informer)
	}
	a.add(k, s, selector)
}

// ownerOf returns the owner of a borrowed informer.
func ownerOf(informer Key) string { return fmt.Sprintf("lookup %v", informer) }

// Keep drops what a parent no longer reads.
func (r *Readers) Keep(k queue.Key, read map[Subject]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keepLocked(k, read)
}

func (r *Readers) keepLocked(k queue.Key, read map[Subject]bool) {
	for s := range r.reads[k] {
		if read[s] {
			continue
		}
		delete(r.reads[k], s)
		a := r.audiences[s.Informer]
		if a.remove(k, s); len(a.objects) > 0 || len(a.selections) > 0 {
			continue
		}
		delete(r.audiences, s.Informer)
		if a.borrowed {
			r.informers.Watch(ownerOf(s.Informer))
		}
	}
	if len(r.reads[k]) == 0 {
		delete(r.reads, k)
	}
}

// Borrowers returns the keys that read through a borrowed informer.
func (r *Readers) Borrowers(informer Key) queue.Keys {
	r.mu.RLock()
	defer r.mu.RUnlock()
	found := make(queue.Keys)
	if a := r.audiences[informer]; a != nil && a.borrowed {
		for _, keys := range a.objects {
			maps.Copy(found, keys)
		}
		for _, f := range a.selections {
			maps.Copy(found, f.keys)
		}
	}
	return found
}

// AddKeys adds to found the keys of a rule that read anything.
func (r *Readers) AddKeys(rule string, found queue.Keys) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	queue.AddOf(r.reads, rule, found)
}

// ForgetRule drops what the parents of a rule read.
func (r *Readers) ForgetRule(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k := range r.reads {
		if k.Rule == id {
			r.keepLocked(k, nil)
		}
	}
}

// Of returns the keys that a change of an object concerns, by its old and its new state.
func (r *Readers) Of(event Event) queue.Keys {
	r.mu.RLock()
	defer r.mu.RUnlock()
	a := r.audiences[event.Key]
	if a == nil {
		return nil
	}
	found := make(queue.Keys)
	var moved map[*following]bool // selections of which only the names are read and that the object entered or left
	for _, obj := range []*Object{event.Old, event.New} {
		if obj == nil {
			continue
		}
		for _, f := range a.collect(obj, found) {
			switch {
			case !f.members:
				maps.Copy(found, f.keys)
			case moved[f]:
				delete(moved, f)
			default:
				if moved == nil {
					moved = make(map[*following]bool, 1)
				}
				moved[f] = true
			}
		}
	}
	for f := range moved {
		maps.Copy(found, f.keys)
	}
	return found
}

// collect adds the readers of an object by its name to found, and returns the selections that contain it.
func (a *audience) collect(obj *Object, found queue.Keys) []*following {
	namespace := obj.Namespace()
	maps.Copy(found, a.objects[types.NamespacedName{Namespace: namespace, Name: obj.Name()}])
	if len(a.selections) == 0 {
		return nil
	}
	set := labels.Set(obj.Head().GetLabels())
	selections := a.selectionsWith(namespace, set)
	if namespace != "" {
		selections = append(selections, a.selectionsWith("", set)...)
	}
	return selections
}

// selectionsWith returns the selections that contain an object with these labels.
func (a *audience) selectionsWith(namespace string, set labels.Set) (found []*following) {
	add := func(at anchor) {
		for f := range a.anchored[at] {
			if f.selector.Matches(set) {
				found = append(found, f)
			}
		}
	}
	add(anchor{namespace: namespace})
	for label, value := range set {
		add(anchor{namespace, label, value})
	}
	return found
}

func (a *audience) add(k queue.Key, s Subject, selector labels.Selector) {
	if s.Name != "" {
		object := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
		if a.objects[object] == nil {
			a.objects[object] = make(queue.Keys, 1)
		}
		a.objects[object][k] = true
		return
	}
	f := a.selections[s]
	if f == nil {
		f = &following{selector: selector, members: s.Members, keys: make(queue.Keys, 1), anchors: a.anchorsFor(s.Namespace, selector)}
		a.selections[s] = f
		for _, at := range f.anchors {
			if a.anchored[at] == nil {
				a.anchored[at] = make(map[*following]bool, 1)
			}
			a.anchored[at][f] = true
		}
	}
	f.keys[k] = true
}

// anchorsFor chooses, of the labels that a selector requires, the one with the fewest other selections; none if it
// requires no label.
func (a *audience) anchorsFor(namespace string, selector labels.Selector) []anchor {
	requirements, _ := selector.Requirements()
	chosen, fewest := []anchor{{namespace: namespace}}, math.MaxInt
	for _, requirement := range requirements {
		switch requirement.Operator() {
		case labelop.Equals, labelop.DoubleEquals, labelop.In:
		default:
			continue
		}
		var anchors []anchor
		others := 0
		for _, value := range requirement.ValuesUnsorted() {
			at := anchor{namespace, requirement.Key(), value}
			anchors = append(anchors, at)
			others += len(a.anchored[at])
		}
		if others < fewest {
			chosen, fewest = anchors, others
		}
	}
	return chosen
}

func (a *audience) remove(k queue.Key, s Subject) {
	if s.Name != "" {
		object := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
		if delete(a.objects[object], k); len(a.objects[object]) == 0 {
			delete(a.objects, object)
		}
		return
	}
	f := a.selections[s]
	if delete(f.keys, k); len(f.keys) > 0 {
		return
	}
	delete(a.selections, s)
	for _, at := range f.anchors {
		if delete(a.anchored[at], f); len(a.anchored[at]) == 0 {
			delete(a.anchored, at)
		}
	}
}
