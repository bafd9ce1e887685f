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

// Annotations are those of the record of a rule in the cluster, as people set them about a rule in a file. The seal does not prove them.
func (s *Store) Annotations(id string) source.Annotations {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.annotations[id]
}

// Follow has Run watch the annotations of the records, from now on. Before that, they are as they were when the records were read.
func (s *Store) Follow() { s.follow.Do(func() { close(s.followed) }) }

// followAnnotations watches the annotations of the records once Follow was called, until ctx ends.
func (s *Store) followAnnotations(ctx context.Context) {
	select {
	case <-s.followed:
	case <-ctx.Done():
		return
	}
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

// onlyAnnotations drops what an informer need not remember of a record.
func onlyAnnotations(object any) (any, error) {
	if record, ok := object.(*unstructured.Unstructured); ok {
		delete(record.Object, "data")
		record.SetManagedFields(nil)
	}
	return object, nil
}

// observe takes in an event of the watch.
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
	s.mu.Lock()
	changed := s.annotateLocked(record.GetName(), now)
	s.mu.Unlock()
	if changed {
		s.annotated()
	}
}

// unannotate has the annotations of a record that is gone ask for nothing: a record that comes after it has none.
func (s *Store) unannotate(id string) {
	s.mu.Lock()
	changed := s.annotateLocked(NamePrefix+id, source.Annotations{})
	s.mu.Unlock()
	if changed {
		s.annotated()
	}
}

// annotateLocked notes the annotations of a ConfigMap, and reports whether they are other ones than before.
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
