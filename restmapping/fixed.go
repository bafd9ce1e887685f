package restmapping

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/flowcontrol"
)

// NewFixed returns a Mapper that knows these kinds and no others. It asks no API server.
func NewFixed(kinds []Kind) *Mapper {
	s := &snapshot{
		kinds: make(map[schema.GroupVersionKind]Kind, len(kinds)), resources: make(map[schema.GroupVersionResource]schema.GroupVersionKind, len(kinds)),
		versions: sets.New[schema.GroupVersion](),
	}
	for _, kind := range kinds {
		s.add(kind)
		s.versions.Insert(kind.GVK.GroupVersion())
	}
	m := &Mapper{
		misses: flowcontrol.NewFakeNeverRateLimiter(), synced: make(chan struct{}),
		published: make(chan struct{}, 1), refreshing: make(chan struct{}, 1),
	}
	m.current.Store(s)
	close(m.synced)
	return m
}
