package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// setUpPatches adds the controller for Apps that patch ConfigMaps. It sends a merge patch with one key if the cache
// shows another value. A finalizer lets it remove the key when the App is deleted. The alternative, a field manager for
// each App, is too slow: with hundreds of managers, each write to an object takes a second.
func setUpPatches(manager ctrl.Manager, o Options) error {
	p := &patcher{client: manager.GetClient(), patch: o.Patch}
	return ctrl.NewControllerManagedBy(manager).
		For(&App{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.ConfigMap{}, handler.Funcs{
			CreateFunc: func(_ context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
				p.enqueue(nil, e.Object, queue)
			},
			UpdateFunc: func(_ context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
				p.enqueue(e.ObjectOld, e.ObjectNew, queue)
			},
		}).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.Workers}).
		Complete(p)
}

// patcher reconciles Apps that patch ConfigMaps.
type patcher struct {
	client client.Client
	patch  Patch
}

// enqueue enqueues the Apps whose keys in a ConfigMap have changed.
func (p *patcher) enqueue(before, after client.Object, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	now, ok := after.(*corev1.ConfigMap)
	if !ok {
		return
	}
	add := func(name string) {
		queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: now.Namespace, Name: name}})
	}
	if p.patch != PatchShared {
		if name := now.Name; p.patch == PatchOwn {
			add(name)
		} else if now.Labels[PickLabel] == PickValue {
			add(SelectorName)
		}
		return
	}
	was, _ := before.(*corev1.ConfigMap)
	if was == nil || now.Name != SharedName {
		return
	}
	for name, value := range now.Data {
		if old, there := was.Data[name]; !there || old != value {
			add(name)
		}
	}
	for name := range was.Data {
		if _, there := now.Data[name]; !there {
			add(name)
		}
	}
}

// Reconcile implements reconcile.Reconciler.
func (p *patcher) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var parent App
	if err := p.client.Get(ctx, request.NamespacedName, &parent); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	held := controllerutil.ContainsFinalizer(&parent, Finalizer)
	if parent.DeletionTimestamp.IsZero() {
		if !held {
			if err := p.finalizer(ctx, &parent, controllerutil.AddFinalizer); err != nil {
				return reconcile.Result{}, err
			}
		}
		return reconcile.Result{}, p.set(ctx, &parent, &parent.Spec.Revision)
	}
	if !held {
		return reconcile.Result{}, nil
	}
	if err := p.set(ctx, &parent, nil); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, client.IgnoreNotFound(p.finalizer(ctx, &parent, controllerutil.RemoveFinalizer))
}

func (p *patcher) finalizer(ctx context.Context, parent *App, change func(client.Object, string) bool) error {
	before := new(App)
	parent.DeepCopyInto(before)
	change(parent, Finalizer)
	if err := p.client.Patch(ctx, parent, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("patch finalizers: %w", err)
	}
	return nil
}

// set sets the App's key in all its targets; nil removes it.
func (p *patcher) set(ctx context.Context, parent *App, value *string) error {
	targets, err := p.targets(ctx, parent)
	if err != nil {
		return err
	}
	key := PatchKey(p.patch, parent.Name)
	body, err := json.Marshal(map[string]any{"data": map[string]*string{key: value}})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	var errs []error
	for i := range targets {
		if now, there := targets[i].Data[key]; there == (value != nil) && (value == nil || now == *value) {
			continue
		}
		target := &corev1.ConfigMap{}
		target.Namespace, target.Name = targets[i].Namespace, targets[i].Name
		if err := p.client.Patch(ctx, target, client.RawPatch(types.MergePatchType, body)); client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("patch ConfigMap %s: %w", target.Name, err))
		}
	}
	return errors.Join(errs...)
}

// targets lists the existing ConfigMaps that the App patches.
func (p *patcher) targets(ctx context.Context, parent *App) ([]corev1.ConfigMap, error) {
	if p.patch == PatchSelected {
		var list corev1.ConfigMapList
		err := p.client.List(ctx, &list, client.InNamespace(parent.Namespace), client.MatchingLabels{PickLabel: PickValue}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, fmt.Errorf("list ConfigMaps: %w", err)
		}
		return list.Items, nil
	}
	name := parent.Name
	if p.patch == PatchShared {
		name = SharedName
	}
	var target corev1.ConfigMap
	err := p.client.Get(ctx, client.ObjectKey{Namespace: parent.Namespace, Name: name}, &target, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return []corev1.ConfigMap{target}, nil
}
