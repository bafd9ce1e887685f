package source

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

const (
	// LabelRules marks a ConfigMap with rules; its value is "true".
	LabelRules = "kanon.dev/rules"
	// AnnotationStatus has the report on a ConfigMap's rules, as JSON.
	AnnotationStatus = "kanon.dev/status"
	// AnnotationConfirmPrune has the meaning that it has on a rule, for all rules of a ConfigMap.
	AnnotationConfirmPrune = "kanon.dev/confirm-prune"
	// AnnotationConfirmDefinition has the meaning that it has on a rule, for all rules of a ConfigMap.
	AnnotationConfirmDefinition = "kanon.dev/confirm-definition"
	// statusManager is the field manager of AnnotationStatus.
	statusManager = "kanon-rules"
)

// ConfigMaps reads documents from the labelled ConfigMaps of one namespace, or of all: every key that ends in .yaml
// or .yml has some.
type ConfigMaps struct {
	client    dynamic.NamespaceableResourceInterface
	namespace string
	informer  cache.SharedIndexInformer
}

// NewConfigMaps returns the source of the labelled ConfigMaps in a namespace, or in all namespaces if that is empty.
func NewConfigMaps(client dynamic.Interface, namespace string) *ConfigMaps {
	gvr := corev1.SchemeGroupVersion.WithResource("configmaps")
	informer := dynamicinformer.NewFilteredDynamicInformer(client, gvr, namespace, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = LabelRules + "=true" })
	return &ConfigMaps{client: client.Resource(gvr), namespace: namespace, informer: informer.Informer()}
}

// Run publishes a snapshot of the ConfigMaps once the informer has synced and after each change, until ctx ends. Call
// it once.
func (c *ConfigMaps) Run(ctx context.Context, publish func(Snapshot)) error {
	changed := make(signal, 1)
	registration, _ := c.informer.AddEventHandler(changed.handler()) // fails only once an informer has stopped
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { c.informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return nil // ctx ended first
	}
	last := c.read()
	publish(last)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			// A changed or removed report counts as a change, so that the caller restores one that was removed.
			if next := c.read(); !next.equal(last) {
				last = next
				publish(last)
			}
		}
	}
}

// read returns the ConfigMaps in the informer's store.
func (c *ConfigMaps) read() Snapshot {
	s := Snapshot{Complete: true}
	for _, item := range c.informer.GetStore().List() {
		if obj, ok := item.(*unstructured.Unstructured); ok {
			s.Bundles = append(s.Bundles, bundleOf(obj))
		}
	}
	slices.SortFunc(s.Bundles, func(a, b Bundle) int {
		return cmp.Compare(a.Origin.ConfigMap.String(), b.Origin.ConfigMap.String())
	})
	return s
}

func bundleOf(obj *unstructured.Unstructured) Bundle {
	b := Bundle{
		Origin: Origin{
			ConfigMap: types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()},
			UID:       obj.GetUID(),
		},
		Created: obj.GetCreationTimestamp().Time,
		Verdict: obj.GetAnnotations()[AnnotationStatus], Annotations: AnnotationsOf(obj),
	}
	data, _, _ := unstructured.NestedStringMap(obj.Object, "data") // the API server accepts only strings in data
	for key, text := range data {
		if isDocument(key) {
			b.Texts = append(b.Texts, Text{Name: b.Origin.String() + "/" + key, Data: []byte(text)})
		}
	}
	slices.SortFunc(b.Texts, func(x, y Text) int { return cmp.Compare(x.Name, y.Name) })
	return b
}

// Report writes the report on one ConfigMap into its annotation. It sends nothing if the annotation is up to date. A
// ConfigMap that is gone or was replaced needs no report: that is not an error. changed is true if the annotation was
// written.
func (c *ConfigMaps) Report(ctx context.Context, origin Origin, report Report) (changed bool, err error) {
	text, err := json.Marshal(report)
	if err != nil {
		return false, fmt.Errorf("report on %s: %w", origin, err)
	}
	if live := stored(c.informer, origin.ConfigMap, origin.UID); live != nil && live.GetAnnotations()[AnnotationStatus] == string(text) {
		return false, nil
	}
	return applyReport(ctx, c.client, origin, origin.ConfigMap, map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata": map[string]any{
			"name":        origin.ConfigMap.Name,
			"namespace":   origin.ConfigMap.Namespace,
			"uid":         origin.UID,
			"annotations": map[string]any{AnnotationStatus: string(text)},
		},
	})
}

// Covers reports whether a ConfigMap with this name would be read.
func (c *ConfigMaps) Covers(origin Origin) bool {
	return origin.Path == "" && origin.Rule.Name == "" && (c.namespace == metav1.NamespaceAll || origin.ConfigMap.Namespace == c.namespace)
}
