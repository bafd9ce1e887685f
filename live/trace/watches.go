package trace

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/engine/apply/mark"
)

// syncLimit is how long a new watch may take to begin. One that is not permitted never begins.
const syncLimit = 5 * time.Second

// watches report changes to objects of a tree. Apart from Events, they watch only the metadata of objects.
type watches struct {
	options Options
	running sync.WaitGroup
	cancel  []context.CancelFunc
	begun   map[place]bool
	changed chan struct{}

	mu sync.Mutex
	// interest is that of the newest tree. It is guarded by mu.
	interest interest
}

// interest selects the changes that may change the tree.
type interest struct {
	uids map[types.UID]bool
	// names are objects that may be created later. In places, every object counts.
	names  map[named]bool
	places map[place]bool
}

type named struct {
	kind            schema.GroupKind
	namespace, name string
}

// events is the kind of Events.
//
//nolint:gochecknoglobals // a constant in all but syntax
var events = schema.GroupVersionKind{Version: "v1", Kind: "Event"}

func newWatches(o Options) *watches {
	return &watches{options: o, begun: map[place]bool{}, changed: make(chan struct{}, 1)}
}

// cover watches everything that a tree consists of. It reports whether it started new watches, and waits until these
// have begun.
func (w *watches) cover(ctx context.Context, root *Node) bool {
	wanted, about := w.needs(root)
	w.mu.Lock()
	w.interest = about
	w.mu.Unlock()
	var synced []cache.InformerSynced
	for p := range wanted {
		if w.begun[p] {
			continue
		}
		w.begun[p] = true
		if informer := w.informer(p); informer != nil {
			synced = append(synced, informer.HasSynced)
			w.run(ctx, informer)
		}
	}
	if len(synced) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, syncLimit)
	defer cancel()
	cache.WaitForCacheSync(ctx.Done(), synced...)
	return true
}

// needs returns the places to watch for a tree, and the changes that count there.
func (w *watches) needs(root *Node) (map[place]bool, interest) {
	wanted := map[place]bool{
		{schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, w.options.Namespace}:                      true,
		{schema.GroupVersionKind{Group: "kanon.dev", Version: "v1alpha1", Kind: "Rule"}, w.options.Namespace}: true,
	}
	about := interest{uids: map[types.UID]bool{}, names: map[named]bool{}, places: map[place]bool{}}
	for p := range wanted {
		about.places[p] = true // rules, and Kanon's reports on them
	}
	for _, n := range root.All() {
		at := place{schema.FromAPIVersionAndKind(n.APIVersion, n.Kind), n.Namespace}
		if n.Name == "" && at.namespace == "" {
			at.namespace = root.Namespace // a child without a known name will be there
		}
		wanted[at] = true
		switch {
		case n.Selector != "":
			about.places[at] = true
		case n.Name != "":
			about.names[named{at.kind.GroupKind(), n.Namespace, n.Name}] = true
		}
		if n.UID != "" {
			about.uids[n.UID] = true
			for _, kind := range ofKubernetes[n.groupKind()] {
				wanted[place{kind, n.Namespace}] = true
			}
		}
		if n.Namespace != "" && !n.State.IsGood() {
			wanted[place{events, n.Namespace}] = true
		}
	}
	return wanted, about
}

// informer makes an informer for a kind in a namespace; nil if the cluster does not have the kind.
func (w *watches) informer(p place) cache.SharedIndexInformer {
	resource, ok := w.options.Kinds.Resource(p.kind)
	if !ok {
		return nil
	}
	var informer cache.SharedIndexInformer
	if p.kind == events {
		informer = dynamicinformer.NewFilteredDynamicInformer(w.options.Client, resource, p.namespace, 0, cache.Indexers{},
			func(o *metav1.ListOptions) { o.FieldSelector = "type=Warning" }).Informer()
	} else {
		informer = metadatainformer.NewFilteredMetadataInformer(w.options.Metadata, resource, p.namespace, 0, cache.Indexers{}, nil).Informer()
	}
	// Without the right to watch, changes are not shown. Informers retry, and would log each failure.
	_ = informer.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {}) // it does not run yet
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{                        // it is not stopped
		AddFunc: func(object any, initial bool) {
			if !initial {
				w.notice(p, object)
			}
		},
		UpdateFunc: func(_, object any) { w.notice(p, object) },
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			w.notice(p, object)
		},
	})
	return informer
}

func (w *watches) run(ctx context.Context, informer cache.SharedIndexInformer) {
	ctx, cancel := context.WithCancel(ctx)
	w.cancel = append(w.cancel, cancel)
	w.running.Go(func() { informer.RunWithContext(ctx) })
}

func (w *watches) stop() {
	for _, cancel := range w.cancel {
		cancel()
	}
	w.running.Wait()
}

// notice signals a change if the tree may change with it.
func (w *watches) notice(p place, object any) {
	w.mu.Lock()
	concerns := w.interest.concerns(p, object)
	w.mu.Unlock()
	if !concerns {
		return
	}
	select {
	case w.changed <- struct{}{}:
	default: // noted already
	}
}

// concerns reports whether an object is part of the tree, or belongs to one that is.
func (i interest) concerns(p place, object any) bool {
	if event, ok := object.(*unstructured.Unstructured); ok && p.kind == events {
		uid, _, _ := unstructured.NestedString(event.Object, "involvedObject", "uid")
		return i.uids[types.UID(uid)]
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return false
	}
	if i.places[p] || i.uids[accessor.GetUID()] || i.names[named{p.kind.GroupKind(), accessor.GetNamespace(), accessor.GetName()}] ||
		i.uids[types.UID(accessor.GetLabels()[mark.LabelParentUID])] {
		return true
	}
	for _, owner := range accessor.GetOwnerReferences() {
		if i.uids[owner.UID] {
			return true
		}
	}
	return false
}

// await waits for a change, and then until nothing changes for a moment. It returns false if ctx ends first.
func (w *watches) await(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-w.changed:
	}
	// A tree that never stays unchanged is still shown after ten such moments.
	for range 10 {
		if !sleep(ctx, calm) {
			return false
		}
		select {
		case <-w.changed:
		default:
			return true
		}
	}
	return true
}
