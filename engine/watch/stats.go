package watch

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Stats has figures about one informer.
type Stats struct {
	Resource schema.GroupResource
	// Synced is true once the informer has filled, and Failing while it cannot watch.
	Synced, Failing bool
	// Objects is the number of objects in memory, and Bytes about how much memory they take.
	Objects int
	Bytes   int64
	// Lag is the age of the oldest write that the watch has not shown yet; 0 if there is none.
	Lag time.Duration
}

// Stats returns figures about all informers.
func (m *Monitors) Stats() []Stats {
	m.mu.RLock()
	defer m.mu.RUnlock()
	all := make([]Stats, 0, len(m.monitors))
	for key, mon := range m.monitors {
		stats := Stats{
			Resource: key.GVR.GroupResource(), Synced: mon.hasSynced(), Failing: mon.health.failure() != nil,
		}
		if since := mon.overlay.oldest(); !since.IsZero() {
			stats.Lag = time.Since(since)
		}
		for _, item := range mon.informer.GetIndexer().List() {
			if obj, ok := item.(*Object); ok {
				stats.Objects++
				stats.Bytes += int64(obj.Memory())
			}
		}
		all = append(all, stats)
	}
	return all
}
