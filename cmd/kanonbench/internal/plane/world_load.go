package plane

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
)

// writers is the number of concurrent requests for making work. It is more than an engine can keep up with.
const writers = 16

// stranger is the field manager of Spoil.
const stranger = "someone-else"

// object is what a name stands for: a parent, or an object that the selecting parent patches.
func (w *World) object(name, revision string, extra int) client.Object {
	if w.patch == app.PatchSelected {
		return app.Target(w.namespace, name, true)
	}
	return app.New(w.kindOf(name), w.namespace, name, revision, extra)
}

// Create creates parents.
func (w *World) Create(ctx context.Context, names []string, revision string, extra int) error {
	return each(ctx, names, func(ctx context.Context, name string) error {
		if err := w.objects.Create(ctx, w.object(name, revision, extra)); err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
		return nil
	})
}

// Change gives parents another revision.
func (w *World) Change(ctx context.Context, names []string, revision string) error {
	if w.patch == app.PatchSelected {
		names = []string{app.SelectorName}
	}
	patch, err := patchOf(map[string]any{"spec": map[string]any{"revision": revision}})
	if err != nil {
		return err
	}
	return each(ctx, names, func(ctx context.Context, name string) error {
		if err := w.objects.Patch(ctx, app.New(w.kindOf(name), w.namespace, name, "", 0), patch); err != nil {
			return fmt.Errorf("change parent %s: %w", name, err)
		}
		return nil
	})
}

// Spoil edits the ConfigMap and the Deployment of parents, as another client would.
func (w *World) Spoil(ctx context.Context, names []string) error {
	data, err := patchOf(map[string]any{"data": map[string]any{app.RevisionKey: "spoilt"}})
	if err != nil {
		return err
	}
	image, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": app.Image("spoilt")},
	})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	return each(ctx, names, func(ctx context.Context, name string) error {
		meta := metav1.ObjectMeta{Namespace: w.namespace, Name: name}
		config := &corev1.ConfigMap{ObjectMeta: meta}
		if err := w.objects.Patch(ctx, config, data, client.FieldOwner(stranger)); err != nil {
			return fmt.Errorf("edit ConfigMap %s: %w", name, err)
		}
		deployment := &appsv1.Deployment{ObjectMeta: meta}
		err := w.objects.Patch(ctx, deployment, client.RawPatch(types.JSONPatchType, image), client.FieldOwner(stranger))
		if err != nil {
			return fmt.Errorf("edit Deployment %s: %w", name, err)
		}
		w.spoilt(name, versionOf(config), versionOf(deployment))
		return nil
	})
}

// spoilt records the edits of Spoil. The engine's repairs may have been seen already.
func (w *World) spoilt(name string, config, deployment uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stateLocked(name)
	s.ConfigMap.Spoilt, s.Deployment.Spoilt = config, deployment
	w.checkLocked(name)
}

// Delete deletes parents. The garbage collector deletes their children.
func (w *World) Delete(ctx context.Context, names []string) error {
	return each(ctx, names, func(ctx context.Context, name string) error {
		err := w.objects.Delete(ctx, w.object(name, "", 0), client.PropagationPolicy(metav1.DeletePropagationBackground))
		if err != nil {
			return fmt.Errorf("delete %s: %w", name, err)
		}
		return nil
	})
}

func patchOf(change map[string]any) (client.Patch, error) {
	text, err := json.Marshal(change)
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	return client.RawPatch(types.MergePatchType, text), nil
}

// each calls do for each name, several at a time.
func each(ctx context.Context, names []string, do func(context.Context, string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return do(ctx, name) })
	}
	return group.Wait()
}
