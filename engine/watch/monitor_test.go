package watch

import (
	"testing"

	"github.com/go-logr/logr"
)

// TestNoEventAfterStop holds that what an informer still has queued when it is
// stopped is not handed over.
func TestNoEventAfterStop(t *testing.T) {
	handled := 0
	m := newMonitor(Key{}, Options{
		Client: &Client{},
		Handle: func(Event) { handled++ },
	})
	obj := &Object{}
	m.state.Store(running)
	m.deliver(logr.Discard(), nil, obj)
	if handled != 1 {
		t.Fatalf("%d events were handled while running, want 1", handled)
	}
	m.stop()
	m.deliver(logr.Discard(), nil, obj)
	if handled != 1 {
		t.Error("an event was handled after the stop")
	}
}
