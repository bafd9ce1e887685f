package main

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// countedDiscovery counts the requests that would be sent.
type countedDiscovery struct {
	discovery.ServerResourcesInterface
	requests atomic.Int32
}

func (d *countedDiscovery) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	d.requests.Add(1)
	return []*metav1.APIResourceList{}, nil
}

// TestChangedKinds asks as the garbage collector does, again and again, and
// counts what gets through.
func TestChangedKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counted := &countedDiscovery{}
		stop := make(chan struct{})
		kinds := &changedKinds{ServerResourcesInterface: counted}
		asking := make(chan struct{})
		go func() {
			defer close(asking)
			for {
				select {
				case <-stop:
					return
				case <-time.After(discoveryInterval):
					_, _ = kinds.ServerPreferredResources()
				}
			}
		}()
		during := func(span time.Duration, atLeast, atMost int32) {
			t.Helper()
			counted.requests.Store(0)
			<-time.After(span) // of the bubble's clock
			synctest.Wait()
			if got := counted.requests.Load(); got < atLeast || got > atMost {
				t.Errorf("%d requests in %s, want %d to %d", got, span, atLeast, atMost)
			}
		}
		settling := int32(discoverySettling / discoveryInterval)

		kinds.note() // the first objects that the informers see
		during(discoverySettling+time.Second, 1, settling+1)
		during(20*time.Second, 0, 0)
		kinds.note()
		during(discoveryInterval, 1, 2)
		during(discoverySettling+time.Second, 1, settling+1)
		during(20*time.Second, 0, 0)
		during(discoveryResync, 1, 1) // once in a while in any case
		close(stop)
		<-asking
	})
}
