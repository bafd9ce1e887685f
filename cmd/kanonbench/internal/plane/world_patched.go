package plane

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
)

// In the loads of patches, names are those of the parents. If one parent patches many objects, they are the names of
// these objects.

// Patches sets what parents patch. It must not be called concurrently with other methods.
func (w *World) Patches(patch app.Patch) { w.patch = patch }

// Patched is the goal that the ConfigMap with a name, or the key with a name in the shared one, has a revision.
func Patched(revision string) Goal {
	return func(s *State) bool { return s.ConfigMap.Value == revision }
}

// Released is the goal that it has none, and that the parent with that name is deleted.
func Released() Goal {
	return func(s *State) bool { return s.ConfigMap.Value == "" && !s.App.Present }
}

// Prepare makes the objects that must exist before the parents: the objects to patch. If one parent patches many
// objects, it makes that parent, and deletes the objects.
func (w *World) Prepare(ctx context.Context, names []string, revision string) error {
	create := func(ctx context.Context, object client.Object) error {
		if err := w.objects.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %s: %w", object.GetName(), err)
		}
		return nil
	}
	switch w.patch {
	case app.PatchOwn:
		return each(ctx, names, func(ctx context.Context, name string) error {
			return create(ctx, app.Target(w.namespace, name, false))
		})
	case app.PatchShared:
		return create(ctx, app.Target(w.namespace, app.SharedName, false))
	case app.PatchSelected:
		gone := w.Expect(names, func(s *State) bool { return !s.ConfigMap.Present })
		err := w.objects.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(w.namespace), client.MatchingLabels{app.PickLabel: app.PickValue})
		if err != nil {
			return fmt.Errorf("delete ConfigMaps: %w", err)
		}
		if _, err := gone.Wait(ctx); err != nil {
			return err
		}
		return create(ctx, app.New(0, w.namespace, app.SelectorName, revision, 0))
	}
	return nil
}

// Release deletes the parents with these names, or the one selecting parent.
func (w *World) Release(ctx context.Context, names []string) error {
	if w.patch != app.PatchSelected {
		return w.Delete(ctx, names)
	}
	if err := w.objects.Delete(ctx, app.New(0, w.namespace, app.SelectorName, "", 0)); err != nil {
		return fmt.Errorf("delete parent: %w", err)
	}
	return nil
}

// seeSharedLocked records the state of the ConfigMap that all parents patch.
func (w *World) seeSharedLocked(now *corev1.ConfigMap) {
	changed := make(map[string]string)
	for name := range w.shared {
		if _, there := now.Data[name]; !there {
			changed[name] = ""
		}
	}
	for name, value := range now.Data {
		if w.shared[name] != value {
			changed[name] = value
		}
	}
	w.shared = maps.Clone(now.Data)
	for name, value := range changed {
		w.stateLocked(name).ConfigMap.Value = value
		w.checkLocked(name)
	}
}
