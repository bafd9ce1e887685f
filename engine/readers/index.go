package readers

import (
	"fmt"
	"maps"
	"math"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	labelop "k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/wire"
)

// Index is that of lookups turned round: which parents read an object, by its name or by a selection that it is in. An event asks
// it whom to wake; that costs a few look-ups by name and by label, however many parents there are.
//
// A reader registers before it reads, so that no change falls between the two, and what it did not read any more in its newest
// pass is dropped after that.
type Index struct {
	informers Informers

	mu sync.RWMutex
	// audiences has what is read through each informer. Guarded by mu.
	audiences map[monitor.Key]*audience
	// reads has what each parent reads. Guarded by mu.
	reads map[queue.Key]map[Subject]bool
}

// Informers starts and stops informers: an owner wants these from now on.
type Informers interface {
	Watch(owner string, informers ...monitor.Key)
}

// Subject is what a lookup reads through an informer: one object, or all that a selector selects.
type Subject struct {
	Informer monitor.Key
	// Namespace is empty for a cluster-scoped object, and for a selection over all namespaces.
	Namespace string
	// Name is empty for a selection, and Selector, in string form, for an object.
	Name, Selector string
	// Members is true for a selection of which only the names are read: who reads it is not enqueued for a change of an object
	// that stays in it.
	Members bool
	// Borrowed is true if no rule asks for the informer when it starts: it turns out when a parent reads through it, as with the
	// Secrets of the parent's namespace. The first parent starts it, and it is stopped after the last one.
	Borrowed bool
}

// audience is who reads through one informer.
type audience struct {
	// borrowed is true if the informer was started for a reader.
	borrowed   bool
	objects    map[types.NamespacedName]queue.Keys
	selections map[Subject]*following
	// anchored has each selection under one of the labels that an object must have to be in it, or else under none. An event so
	// looks at few selections, also where each parent has one of its own.
	anchored map[anchor]map[*following]bool
}

// following is one selection and who reads it.
type following struct {
	selector labels.Selector
	members  bool
	keys     queue.Keys
	anchors  []anchor // where it is
}

// anchor is a label with its value, or none, in objects of one namespace, or of all.
type anchor struct{ namespace, label, value string }

// New makes an index in which nobody reads anything.
func New(informers Informers) *Index {
	return &Index{informers: informers, audiences: make(map[monitor.Key]*audience), reads: make(map[queue.Key]map[Subject]bool)}
}

// Add registers a parent as a reader. selector is that of a selection. Who asks whether a borrowed informer has filled asks
// afterwards: its Synced call then finds the reader.
func (r *Index) Add(k queue.Key, s Subject, selector labels.Selector) {
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

// ownerOf is the name under which a borrowed informer is wanted.
func ownerOf(informer monitor.Key) string { return fmt.Sprintf("lookup %v", informer) }

// Keep drops what a parent read before and does not read any more.
func (r *Index) Keep(k queue.Key, read map[Subject]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keepLocked(k, read)
}

func (r *Index) keepLocked(k queue.Key, read map[Subject]bool) {
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

// Borrowers lists who reads through a borrowed informer.
func (r *Index) Borrowers(informer monitor.Key) queue.Keys {
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

// AddKeys adds to found who of a rule reads anything.
func (r *Index) AddKeys(rule string, found queue.Keys) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	queue.AddOf(r.reads, rule, found)
}

// ForgetRule drops what the parents of a rule read.
func (r *Index) ForgetRule(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k := range r.reads {
		if k.Rule == id {
			r.keepLocked(k, nil)
		}
	}
}

// Of lists the parents that a change of an object concerns, by what it was and by what it is.
func (r *Index) Of(event monitor.Event) queue.Keys {
	r.mu.RLock()
	defer r.mu.RUnlock()
	a := r.audiences[event.Key]
	if a == nil {
		return nil
	}
	found := make(queue.Keys)
	var moved map[*following]bool // selections of which only the names are read that it came into, or left
	for _, obj := range []*wire.Object{event.Old, event.New} {
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

// collect adds who reads an object by its name, and lists the selections that it is in.
func (a *audience) collect(obj *wire.Object, found queue.Keys) []*following {
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

// selectionsWith are those that an object with these labels is in.
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

// anchorsFor chooses, of the labels that a selector asks for, the one that the fewest other selections stand under; none where it
// asks for no label.
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
