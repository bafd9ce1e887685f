package watch_test

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/watch"
)

// Who asks is told once that an informer cannot list, and Failure says why.
func TestFailedIsTold(t *testing.T) {
	failed := make(chan watch.Key, 100)
	f := newFixture(t, func(o *watch.Options) { o.Failed = func(k watch.Key) { failed <- k } })
	missing := watch.Key{GVR: schema.GroupVersionResource{Group: "nowhere.example.com", Version: "v1", Resource: "things"}}
	f.monitors.Watch("owner", missing, f.key(""))
	if got := f.events.synced(t); got != f.key("") {
		t.Errorf("%v has filled", got)
	}
	for tries := 0; tries < 4; { // a list and a watch each
		if path := f.events.receive(t, "a request for things", f.sent.sent); strings.HasSuffix(path, "/things") {
			tries++
		}
	}
	if got := <-failed; got != missing {
		t.Errorf("%v is said to have failed, want %v", got, missing)
	}
	if err := f.monitors.Failure(missing); !apierrors.IsNotFound(err) {
		t.Errorf("it failed because of %v, want that it is not found", err)
	}
	if len(failed) > 0 {
		t.Errorf("the same failure is told %d times more", len(failed))
	}
}

// client-go may report what a stopped informer could not read: that is no failure.
func TestStoppedInformerHasNotFailed(t *testing.T) {
	f := newFixture(t)
	f.monitors.Watch("owner", f.key(""))
	f.events.synced(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	f.monitors.Fail(ctx, f.key(""), context.Canceled)
	if err := f.monitors.Failure(f.key("")); err != nil {
		t.Errorf("it failed because of %v", err)
	}
}
