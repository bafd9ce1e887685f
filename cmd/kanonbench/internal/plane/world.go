package plane

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
)

// World has the last known state of all parents and their children.
type World struct {
	config    *rest.Config
	namespace string
	objects   client.Client
	kindOf    func(parent string) app.Kind

	patch app.Patch // what parents patch; empty if they have children

	mu     sync.Mutex              // guards the fields below
	shared map[string]string       // the data of the shared ConfigMap
	states map[string]*State       // by the parent's name
	goals  map[string]*Expectation // by the parent's name; each has at most one
}

// Expectation is a goal for some parents, and its progress.
type Expectation struct {
	world *World
	goal  Goal
	done  chan struct{} // closed when nothing is pending

	// Guarded by world.mu.
	pending map[string]bool
	at      time.Time // when the last parent reached the goal
}

// NewWorld makes a World for the parents in a namespace, all of the first kind. It sees nothing before Watch.
func NewWorld(config *rest.Config, namespace string) (*World, error) {
	objects, err := client.New(config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return &World{
		config:    config,
		namespace: namespace,
		objects:   objects,
		kindOf:    func(string) app.Kind { return 0 },
		states:    make(map[string]*State),
		goals:     make(map[string]*Expectation),
	}, nil
}

// Kinds sets the kind of each parent by its name. All of these kinds must be watched. It must not be called
// concurrently with other methods.
func (w *World) Kinds(of func(parent string) app.Kind) { w.kindOf = of }

// Watch watches children and the first kinds of parents, until stop is called. stop waits for the end.
func (w *World) Watch(ctx context.Context, kinds int) (stop func() error, err error) {
	ours, err := labels.NewRequirement(app.Label, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("make selector: %w", err)
	}
	seen, err := cache.New(w.config, cache.Options{
		DefaultLabelSelector: labels.NewSelector().Add(*ours),
		DefaultNamespaces:    map[string]cache.Config{w.namespace: {}},
		DefaultTransform:     reduce,
	})
	if err != nil {
		return nil, fmt.Errorf("make cache: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- seen.Start(ctx) }()
	stop = func() error {
		cancel()
		return <-ended
	}
	watched := []client.Object{&corev1.ConfigMap{}, &corev1.Service{}, &appsv1.Deployment{}}
	for kind := range app.Kind(kinds) {
		watched = append(watched, app.New(kind, w.namespace, "", "", 0))
	}
	for _, kind := range watched {
		informer, err := seen.GetInformer(ctx, kind)
		if err == nil {
			_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
				AddFunc:    func(object any) { w.see(object, true) },
				UpdateFunc: func(_, object any) { w.see(object, true) },
				DeleteFunc: func(object any) { w.see(object, false) },
			})
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("watch %T: %w", kind, err), stop())
		}
	}
	return stop, nil
}

// see records an event.
func (w *World) see(event any, present bool) {
	if last, is := event.(toolscache.DeletedFinalStateUnknown); is {
		event = last.Obj
	}
	object, is := event.(client.Object)
	if !is {
		return
	}
	name := object.GetLabels()[app.Label]
	w.mu.Lock()
	defer w.mu.Unlock()
	if shared, is := object.(*corev1.ConfigMap); is && w.patch == app.PatchShared && name == app.SharedName {
		w.seeSharedLocked(shared)
		return
	}
	w.stateLocked(name).see(object, present)
	w.checkLocked(name)
}

func (w *World) stateLocked(name string) *State {
	s := w.states[name]
	if s == nil {
		s = new(State)
		w.states[name] = s
	}
	return s
}

// checkLocked checks whether a parent has reached its goal.
func (w *World) checkLocked(name string) {
	e := w.goals[name]
	if e == nil || !e.goal(w.stateLocked(name)) {
		return
	}
	delete(w.goals, name)
	delete(e.pending, name)
	if len(e.pending) == 0 {
		e.at = time.Now()
		close(e.done)
	}
}

// Expect sets a goal for parents, which must not have another one.
func (w *World) Expect(names []string, goal Goal) *Expectation {
	e := &Expectation{world: w, goal: goal, done: make(chan struct{}), pending: make(map[string]bool, len(names))}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		e.pending[name] = true
		w.goals[name] = e
	}
	if len(names) == 0 {
		close(e.done)
	}
	for _, name := range names {
		w.checkLocked(name)
	}
	return e
}

// Wait waits until all parents have reached the goal, and returns when that was. The error says how many have not, and
// shows one of them.
func (e *Expectation) Wait(ctx context.Context) (time.Time, error) {
	select {
	case <-e.done:
		e.world.mu.Lock()
		defer e.world.mu.Unlock()
		return e.at, nil
	case <-ctx.Done():
	}
	e.world.mu.Lock()
	defer e.world.mu.Unlock()
	for name := range e.pending {
		return time.Time{}, fmt.Errorf("%w: %d parents are not there yet, such as %s: %+v",
			context.Cause(ctx), len(e.pending), name, *e.world.stateLocked(name))
	}
	return e.at, nil
}
