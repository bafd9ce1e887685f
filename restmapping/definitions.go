package restmapping

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

type definitions struct {
	// changed yields after a change that discovery may show. It holds at most one signal.
	changed chan struct{}
	// customResources and apiServices are nil if the API server does not serve these kinds.
	customResources *definitionWatch
	apiServices     *definitionWatch
	mu              sync.Mutex
	// gone has resources whose definition was deleted, until discovery no longer shows them. Guarded by mu.
	gone sets.Set[schema.GroupResource]
}

func newDefinitions(client dynamic.Interface, s *snapshot) *definitions {
	d := &definitions{
		changed: make(chan struct{}, 1),
		gone:    sets.New[schema.GroupResource](),
	}
	watch := func(group, resource string) *definitionWatch {
		gvr := schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
		if _, ok := s.resources[gvr]; !ok {
			return nil
		}
		return newDefinitionWatch(client, gvr)
	}
	d.customResources = watch("apiextensions.k8s.io", "customresourcedefinitions")
	d.apiServices = watch("apiregistration.k8s.io", "apiservices")
	return d
}

// start starts the watches in group; they end with ctx. known reports whether discovery lists a group version. The
// error reports that an informer cannot be set up.
func (d *definitions) start(ctx context.Context, group *sync.WaitGroup, known func(schema.GroupVersion) bool) error {
	if w := d.customResources; w != nil {
		if err := w.start(ctx, group, keepCustomResource, d.customResourceHandler(), d.signal); err != nil {
			return fmt.Errorf("watch CustomResourceDefinitions: %w", err)
		}
	}
	if w := d.apiServices; w != nil {
		if err := w.start(ctx, group, keepAPIService, d.apiServiceHandler(known), d.signal); err != nil {
			return fmt.Errorf("watch APIServices: %w", err)
		}
	}
	return nil
}

// wait waits until each watch has its first list or has failed. A failed watch signals a change once it works. wait
// returns false if ctx ends first.
func (d *definitions) wait(ctx context.Context) bool {
	for _, w := range []*definitionWatch{d.customResources, d.apiServices} {
		if w == nil {
			continue
		}
		select {
		case <-w.informer.HasSyncedChecker().Done():
		case <-w.failed:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (d *definitions) signal() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// handlerOf returns a handler that signals the changes of definitions that discovery can show: those that appear or
// vanish, if the function says so, and those that change.
func handlerOf[T any](signal func(), appears, vanishes func(T) bool, changes func(old, is T) bool) cache.ResourceEventHandler {
	signalIf := func(counts bool) {
		if counts {
			signal()
		}
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			is, ok := obj.(T)
			signalIf(ok && !initial && appears(is))
		},
		UpdateFunc: func(before, after any) {
			old, wasOne := before.(T)
			is, isOne := after.(T)
			signalIf(wasOne && isOne && changes(old, is))
		},
		DeleteFunc: func(obj any) {
			if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = last.Obj
			}
			is, ok := obj.(T)
			signalIf(ok && vanishes(is))
		},
	}
}

// customResourceHandler leaves out definitions that are not established, and other conditions.
func (d *definitions) customResourceHandler() cache.ResourceEventHandler {
	established := func(c *customResource) bool { return c.established }
	vanishes := func(c *customResource) bool {
		if c.established {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.gone.Insert(c.resource)
		}
		return c.established
	}
	return handlerOf(d.signal, established, vanishes, func(old, c *customResource) bool {
		return !c.sameKinds(old) && (old.established || c.established)
	})
}

// apiServiceHandler signals changes of remote APIServices. Local ones come and go with the definitions. They count only
// if discovery disagrees, as when an upgraded API server has new groups.
func (d *definitions) apiServiceHandler(known func(schema.GroupVersion) bool) cache.ResourceEventHandler {
	appears := func(s *apiService) bool { return s.remote || !known(s.version) }
	vanishes := func(s *apiService) bool { return s.remote || known(s.version) }
	return handlerOf(d.signal, appears, vanishes, func(old, s *apiService) bool { return !s.sameKinds(old) })
}

func (d *definitions) all() map[schema.GroupResource]Definition {
	all := map[schema.GroupResource]Definition{}
	for _, c := range listOf[*customResource](d.customResources) {
		all[c.resource] = Definition{UID: c.UID, Generation: c.Generation}
	}
	return all
}

// unsettled lists, sorted, the resources for which discovery and the definitions disagree.
func (d *definitions) unsettled(s *snapshot) []string {
	var differing []string
	defined := map[schema.GroupResource]*customResource{}
	for _, c := range listOf[*customResource](d.customResources) {
		defined[c.resource] = c
		if c.established {
			differing = append(differing, c.notShown(s)...)
		}
	}
	differing = append(differing, d.stillShown(s, defined)...)
	differing = append(differing, d.undiscovered(s)...)
	slices.Sort(differing)
	return slices.Compact(differing)
}

// notShown lists the served versions of a definition that discovery lacks, or shows as an earlier definition had them.
func (c *customResource) notShown(s *snapshot) []string {
	var list []string
	for version := range c.served {
		gvr := c.resource.WithVersion(version)
		gvk, ok := s.resources[gvr]
		if !ok || gvk.Kind != c.kind || s.kinds[gvk].Namespaced != c.namespaced {
			list = append(list, gvr.GroupResource().String()+"/"+version)
		}
	}
	return list
}

// stillShown lists the resources that discovery shows although their definition is gone, or does not serve that
// version.
func (d *definitions) stillShown(s *snapshot, defined map[schema.GroupResource]*customResource) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []string
	shown := sets.New[schema.GroupResource]()
	for gvr := range s.resources {
		resource := gvr.GroupResource()
		c, ok := defined[resource]
		if (ok && !c.served.Has(gvr.Version)) || (!ok && d.gone.Has(resource)) {
			list = append(list, resource.String()+"/"+gvr.Version)
			shown.Insert(resource)
		}
	}
	d.gone = d.gone.Intersection(shown)
	return list
}

// undiscovered lists the group versions whose discovery failed. It excludes those of remote API servers that are known
// to be unavailable: their return is an event.
func (d *definitions) undiscovered(s *snapshot) []string {
	var list []string
	unavailable := sets.New[schema.GroupVersion]()
	for _, service := range listOf[*apiService](d.apiServices) {
		switch {
		case !service.remote:
		case !service.available:
			unavailable.Insert(service.version)
		case !s.versions.Has(service.version):
			list = append(list, service.version.String())
		}
	}
	for gv := range s.failed {
		if !unavailable.Has(gv) {
			list = append(list, gv.String())
		}
	}
	return list
}

// listOf lists the items of a watch; none for nil.
func listOf[T any](w *definitionWatch) []T {
	if w == nil {
		return nil
	}
	var list []T
	for _, item := range w.informer.GetStore().List() {
		if object, ok := item.(T); ok {
			list = append(list, object)
		}
	}
	return list
}

func loggerFor(ctx context.Context, resource schema.GroupVersionResource) logr.Logger {
	return logr.FromContextOrDiscard(ctx).WithValues("resource", resource.GroupResource().String())
}

// customResource has the needed fields of a CustomResourceDefinition. The informer keeps it instead of the object,
// whose schemas can take a megabyte.
type customResource struct {
	metav1.ObjectMeta // only name, uid, resourceVersion, generation
	resource          schema.GroupResource
	kind              string
	namespaced        bool
	served            sets.Set[string] // versions
	established       bool
	terminating       bool
}

func keepCustomResource(item any) (any, error) {
	obj, ok := item.(*unstructured.Unstructured)
	if !ok {
		return item, nil // already transformed
	}
	group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "plural")
	kind, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "kind")
	scope, _, _ := unstructured.NestedString(obj.Object, "spec", "scope")
	c := &customResource{
		ObjectMeta:  keepMeta(obj),
		resource:    schema.GroupResource{Group: group, Resource: plural},
		kind:        kind,
		namespaced:  scope == "Namespaced",
		served:      sets.New[string](),
		established: hasCondition(obj, "Established"),
		terminating: hasCondition(obj, "Terminating"),
	}
	for _, version := range mapsAt(obj, "spec", "versions") {
		if served, _ := version["served"].(bool); served {
			name, _ := version["name"].(string)
			c.served.Insert(name)
		}
	}
	return c, nil
}

// sameKinds reports whether two states of a definition define the same kinds.
func (c *customResource) sameKinds(o *customResource) bool {
	return c.UID == o.UID && c.Generation == o.Generation &&
		c.established == o.established && c.terminating == o.terminating
}

// apiService has the needed fields of an APIService.
type apiService struct {
	metav1.ObjectMeta // only name, uid, resourceVersion, generation
	version           schema.GroupVersion
	// remote is true if another API server serves the group version. Local APIServices add nothing to discovery and the
	// definitions: each built-in group, and each group of a CustomResourceDefinition, has one.
	remote bool
	// available is true if the remote API server answers.
	available bool
}

func keepAPIService(item any) (any, error) {
	obj, ok := item.(*unstructured.Unstructured)
	if !ok {
		return item, nil // already transformed
	}
	group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
	version, _, _ := unstructured.NestedString(obj.Object, "spec", "version")
	service, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "service")
	return &apiService{
		ObjectMeta: keepMeta(obj),
		version:    schema.GroupVersion{Group: group, Version: version},
		remote:     service != nil,
		available:  hasCondition(obj, "Available"),
	}, nil
}

// sameKinds reports whether two states of an APIService stand for the same kinds.
func (s *apiService) sameKinds(o *apiService) bool {
	if !s.remote && !o.remote {
		return true
	}
	return s.UID == o.UID && s.Generation == o.Generation && s.available == o.available
}

func keepMeta(obj *unstructured.Unstructured) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            obj.GetName(),
		UID:             obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(),
		Generation:      obj.GetGeneration(),
	}
}

func hasCondition(obj *unstructured.Unstructured, name string) bool {
	return slices.ContainsFunc(mapsAt(obj, "status", "conditions"), func(c map[string]any) bool {
		return c["type"] == name && c["status"] == string(metav1.ConditionTrue)
	})
}

// mapsAt returns the items of a list that are maps, without copying them.
func mapsAt(obj *unstructured.Unstructured, path ...string) []map[string]any {
	value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, path...)
	items, _ := value.([]any)
	list := make([]map[string]any, 0, len(items))
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			list = append(list, m)
		}
	}
	return list
}

type definitionWatch struct {
	resource schema.GroupVersionResource
	informer cache.SharedIndexInformer
	// failed is closed at the first error.
	failed     chan struct{}
	failedOnce sync.Once
	// failing is true after an outage was logged, until the next event.
	failing atomic.Bool
}

func newDefinitionWatch(client dynamic.Interface, resource schema.GroupVersionResource) *definitionWatch {
	return &definitionWatch{
		resource: resource,
		informer: dynamicinformer.NewFilteredDynamicInformer(client, resource, "", 0, nil, nil).Informer(),
		failed:   make(chan struct{}),
	}
}

// start runs the informer in group until ctx ends. late is called if the first list succeeds only after an error. The
// error reports that the informer already runs.
func (w *definitionWatch) start(
	ctx context.Context, group *sync.WaitGroup, keep cache.TransformFunc, handler cache.ResourceEventHandler, late func(),
) error {
	log := loggerFor(ctx, w.resource)
	ctx = logr.NewContext(ctx, log)
	if err := w.informer.SetTransform(keep); err != nil {
		return err
	}
	if err := w.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		if ctx.Err() != nil { // the requests of an informer that is stopped end with an error, too
			return
		}
		if !w.failing.Swap(true) {
			log.Error(err, "Cannot watch definitions of kinds; retrying")
		}
		w.failedOnce.Do(func() { close(w.failed) })
	}); err != nil {
		return err
	}
	for _, h := range []cache.ResourceEventHandler{handler, w.recovery(log)} {
		if _, err := w.informer.AddEventHandlerWithOptions(h, cache.HandlerOptions{Logger: &log}); err != nil {
			return err
		}
	}
	group.Go(func() { w.informer.RunWithContext(ctx) })
	group.Go(func() {
		select {
		case <-ctx.Done():
			return
		case <-w.informer.HasSyncedChecker().Done():
		}
		select {
		case <-w.failed:
			late()
		default:
		}
	})
	return nil
}

// recovery returns a handler that ends an outage at the first event after it.
func (w *definitionWatch) recovery(log logr.Logger) cache.ResourceEventHandler {
	event := func() {
		if w.failing.Load() && w.failing.Swap(false) {
			log.Info("Watching definitions of kinds again")
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { event() },
		UpdateFunc: func(any, any) { event() },
		DeleteFunc: func(any) { event() },
	}
}
