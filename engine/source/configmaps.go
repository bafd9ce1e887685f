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
	// LabelRules marks a ConfigMap that holds rules; its value is "true".
	LabelRules = "kanon.dev/rules"
	// AnnotationStatus is where the verdict on a ConfigMap's rules is written, as JSON.
	AnnotationStatus = "kanon.dev/status"
	// AnnotationConfirmPrune is as in package rules, for all rules of a ConfigMap.
	AnnotationConfirmPrune = "kanon.dev/confirm-prune"
	// AnnotationConfirmDefinition is as in package rules, for all rules of a ConfigMap.
	AnnotationConfirmDefinition = "kanon.dev/confirm-definition"
	// statusManager is the field manager of AnnotationStatus.
	statusManager = "kanon-rules"
)

// ConfigMaps reads documents from the labelled ConfigMaps of one namespace, or of all:
// every key that ends in .yaml or .yml holds some.
type ConfigMaps struct {
	client    dynamic.NamespaceableResourceInterface
	namespace string
	informer  cache.SharedIndexInformer
}

// NewConfigMaps prepares to read the labelled ConfigMaps of namespace; of all namespaces, if that is empty.
func NewConfigMaps(client dynamic.Interface, namespace string) *ConfigMaps {
	gvr := corev1.SchemeGroupVersion.WithResource("configmaps")
	informer := dynamicinformer.NewFilteredDynamicInformer(client, gvr, namespace, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = LabelRules + "=true" })
	return &ConfigMaps{client: client.Resource(gvr), namespace: namespace, informer: informer.Informer()}
}

// Run publishes what the ConfigMaps hold, once all are known and after each
// change, until ctx ends. It can be called once.
func (c *ConfigMaps) Run(ctx context.Context, publish func(Snapshot)) error {
	changed := make(signal, 1)
	registration, err := c.informer.AddEventHandler(changed.handler())
	if err != nil {
		return fmt.Errorf("watch rule ConfigMaps: %w", err)
	}
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
			// A verdict that was written, or taken away, counts: whoever gives
			// verdicts puts one back that is gone.
			if next := c.read(); !next.equal(last) {
				last = next
				publish(last)
			}
		}
	}
}

// read takes stock of the informer's store.
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
	data, _, _ := unstructured.NestedStringMap(obj.Object, "data") // the API server holds data to strings
	for key, text := range data {
		if isDocument(key) {
			b.Texts = append(b.Texts, Text{Name: b.Origin.String() + "/" + key, Data: []byte(text)})
		}
	}
	slices.SortFunc(b.Texts, func(x, y Text) int { return cmp.Compare(x.Name, y.Name) })
	return b
}

// Report writes the verdict on one ConfigMap into its annotation and tells
// whether that changed it. Nothing is sent when the annotation says so
// already. A ConfigMap that is gone or was replaced needs no verdict: that
// is not an error.
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

// Covers tells whether a ConfigMap of that name would be read.
func (c *ConfigMaps) Covers(origin Origin) bool {
	return origin.Path == "" && origin.Rule.Name == "" && (c.namespace == metav1.NamespaceAll || origin.ConfigMap.Namespace == c.namespace)
}
