package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/source"
)

// requests sends the requests of the store. It has no state.
type requests struct {
	client    dynamic.Interface
	namespace string
}

func (r requests) configMaps() dynamic.ResourceInterface {
	return r.client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(r.namespace)
}

// list reads all records.
func (r requests) list(ctx context.Context) ([]unstructured.Unstructured, error) {
	list, err := r.configMaps().List(ctx, metav1.ListOptions{LabelSelector: Label + "=true"})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// errDeleted is returned for a ConfigMap that somebody deleted.
var errDeleted = errors.New("the ConfigMap was deleted")

// write creates the ConfigMap of a record, or updates live, the ConfigMap as last seen. It returns the resulting
// ConfigMap. If live was deleted, write creates it again if recreate is true, and returns errDeleted otherwise.
func (r requests) write(ctx context.Context, live, desired *unstructured.Unstructured, recreate bool) (*unstructured.Unstructured, error) {
	answer, err := r.createOrPatch(ctx, live, desired)
	if live == nil && apierrors.IsNotFound(err) {
		// Kanon's namespace does not exist, for example because Kanon runs outside of the cluster.
		if err = r.CreateNamespace(ctx); err == nil {
			answer, err = r.createOrPatch(ctx, nil, desired)
		}
	}
	if apierrors.IsAlreadyExists(err) || live != nil && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)) {
		// Somebody created, changed or deleted it. The store's content wins.
		live, err = r.configMaps().Get(ctx, desired.GetName(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) && !recreate:
			return nil, errDeleted
		case apierrors.IsNotFound(err):
			return r.write(ctx, nil, desired, true)
		case err == nil:
			answer, err = r.createOrPatch(ctx, live, desired)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("write ConfigMap %s in namespace %s: %w", desired.GetName(), r.namespace, err)
	}
	return answer, nil
}

func (r requests) createOrPatch(ctx context.Context, live, desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if live == nil {
		return r.configMaps().Create(ctx, desired, metav1.CreateOptions{FieldManager: manager})
	}
	patch := desired.DeepCopy()
	patch.SetUID(live.GetUID())
	patch.SetResourceVersion(live.GetResourceVersion())
	if data, ok := patch.Object["data"].(map[string]any); ok {
		for _, key := range []string{keyBlocked, keyMessage, keyRemoval, keyReport} {
			if data[key] == nil {
				data[key] = nil // a merge patch removes the key then
			}
		}
	}
	body, err := json.Marshal(patch.Object)
	if err != nil {
		return nil, err
	}
	return r.configMaps().Patch(ctx, desired.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
}

// CreateNamespace creates Kanon's namespace, unless it exists.
func (r requests) CreateNamespace(ctx context.Context) error {
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": r.namespace},
	}}
	_, err := r.client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Create(ctx, namespace, metav1.CreateOptions{FieldManager: manager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create namespace %s, which does not exist: %w", r.namespace, err)
	}
	return nil
}

// delete deletes the ConfigMap of a record, unless it was replaced by another one. live is nil if there is none.
func (r requests) delete(ctx context.Context, live *unstructured.Unstructured) error {
	if live == nil {
		return nil
	}
	uid := live.GetUID()
	err := r.configMaps().Delete(ctx, live.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete ConfigMap %s in namespace %s: %w", live.GetName(), r.namespace, err)
	}
	return nil
}

// acceptsObjects reports whether Kanon's namespace exists and is not being deleted, by a dry run.
func (r requests) acceptsObjects(ctx context.Context) (bool, error) {
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"generateName": NamePrefix, "namespace": r.namespace},
	}}
	_, err := r.configMaps().Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask whether something can be created in namespace %s: %w", r.namespace, err)
	}
	return true, nil
}

// exists reports whether this very ConfigMap still exists, and not another one of its name.
func (r requests) exists(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	live, err := r.configMaps().Get(ctx, object.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read ConfigMap %s in namespace %s: %w", object.GetName(), r.namespace, err)
	}
	return live.GetUID() == object.GetUID(), nil
}

// namespaceExists reports whether a namespace exists.
func (r requests) namespaceExists(ctx context.Context, name string) (bool, error) {
	_, err := r.client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// originExists reports whether the object with the text of a rule exists. A file counts as existing.
func (r requests) originExists(ctx context.Context, origin Origin) (bool, error) {
	var err error
	switch {
	case origin.ConfigMap != "":
		_, err = r.client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(origin.Namespace).Get(ctx, origin.ConfigMap, metav1.GetOptions{})
	case origin.Rule != "":
		_, err = r.client.Resource(source.RulesGVR()).Namespace(origin.Namespace).Get(ctx, origin.Rule, metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
