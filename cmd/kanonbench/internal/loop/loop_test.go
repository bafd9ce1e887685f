package loop

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
)

func parent(uid string, generation int64) *app.App {
	return &app.App{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Name: uid, Generation: generation}}
}

func TestFollow(t *testing.T) {
	events := make(chan watch.Event, 10)
	for _, event := range []watch.Event{
		{Type: watch.Modified, Object: parent("old", 1)}, // a new status, the same spec
		{Type: watch.Modified, Object: parent("old", 2)},
		{Type: watch.Added, Object: parent("new", 1)},
		{Type: watch.Deleted, Object: parent("new", 1)},
		{Type: watch.Bookmark, Object: parent("old", 2)},
		{Type: watch.Added, Object: parent("new", 1)},
	} {
		events <- event
	}
	close(events)
	work := make(chan *app.App, 10)
	err := follow(t.Context(), map[types.UID]int64{"old": 1}, events, nil, work)
	if !errors.Is(err, errEnded) {
		t.Errorf("at the end of the watch: %v", err)
	}
	close(work)
	var got []string
	for p := range work {
		got = append(got, p.Name)
	}
	if diff := cmp.Diff([]string{"old", "new", "new"}, got); diff != "" {
		t.Errorf("worked on (-want +got):\n%s", diff)
	}
}

func TestFollowEnds(t *testing.T) {
	again := make(chan struct{}, 1)
	again <- struct{}{}
	if err := follow(t.Context(), nil, nil, again, nil); !errors.Is(err, errEnded) {
		t.Errorf("asked for another pass: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := follow(ctx, nil, nil, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
