package record

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/engine/source"
)

// Annotations returns the annotations that people set on the record of a rule in a file. The seal does not cover
// them.
func (s *Store) Annotations(id string) source.Annotations {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.annotations[id]
}

// followAnnotations watches the annotations of the records until ctx ends.
func (s *Store) followAnnotations(ctx context.Context) {
	informer := dynamicinformer.NewFilteredDynamicInformer(s.client, corev1.SchemeGroupVersion.WithResource("configmaps"), s.namespace, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = Label + "=true" }).Informer()
	// Both fail only once an informer has started.
	_ = informer.SetTransform(onlyAnnotations)
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { s.observe(object, false) },
		UpdateFunc: func(_, object any) { s.observe(object, false) },
		DeleteFunc: func(object any) { s.observe(object, true) },
	})
	informer.RunWithContext(ctx)
}

// onlyAnnotations drops what the informer need not keep of a record.
func onlyAnnotations(object any) (any, error) {
	if record, ok := object.(*unstructured.Unstructured); ok {
		delete(record.Object, "data")
		record.SetManagedFields(nil)
	}
	return object, nil
}

// observe handles one event of the watch.
func (s *Store) observe(object any, deleted bool) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	record, ok := object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	var now source.Annotations
	if !deleted {
		now = source.AnnotationsOf(record)
	}
	s.annotate(record.GetName(), now)
}

// annotate records the annotations of a ConfigMap, and calls Annotated if they changed.
func (s *Store) annotate(configMap string, now source.Annotations) {
	s.mu.Lock()
	changed := s.annotateLocked(configMap, now)
	s.mu.Unlock()
	if changed {
		s.annotated()
	}
}

// annotateLocked records the annotations of a ConfigMap, and reports whether they changed.
func (s *Store) annotateLocked(configMap string, now source.Annotations) (changed bool) {
	id, ok := strings.CutPrefix(configMap, NamePrefix)
	if !ok || s.annotations[id] == now {
		return false
	}
	if s.annotations[id] = now; now == (source.Annotations{}) {
		delete(s.annotations, id)
	}
	return true
}
