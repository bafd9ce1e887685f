package engine_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"testing"
	"testing/iotest"

	"k8s.io/apimachinery/pkg/types"
)

// A watch has brought what the API server has when it has shown each object as it is now, and the end of those that are gone.
func TestWatchesKnowWhoIsBehind(t *testing.T) {
	t.Parallel()
	event := func(kind, uid, version string) string {
		return `{"type":"` + kind + `","object":{"metadata":{"uid":"` + uid + `","resourceVersion":"` + version + `"}}}` + "\n"
	}
	const now = `{"metadata":{"resourceVersion":"20"},"items":[{"metadata":{"uid":"a","resourceVersion":"9"}},{"metadata":{"uid":"b","resourceVersion":"11"}}]}`
	synced := event("ADDED", "b", "8") + event("ADDED", "a", "9") + event("BOOKMARK", "", "10")
	for name, tt := range map[string]struct {
		events string
		want   bool
	}{
		"all":                      {synced + event("MODIFIED", "b", "11"), true},
		"an object is older":       {synced, false},
		"the first list goes on":   {event("ADDED", "b", "11") + event("ADDED", "a", "9"), false},
		"a later event":            {synced + event("MODIFIED", "b", "30"), true},
		"a deleted object stays":   {synced + event("ADDED", "c", "10") + event("MODIFIED", "b", "11"), false},
		"a deleted object is gone": {synced + event("ADDED", "c", "10") + event("MODIFIED", "b", "11") + event("DELETED", "c", "12"), true},
		"a newer object":           {synced + event("MODIFIED", "b", "11") + event("ADDED", "c", "21"), true},
		"half an event":            {synced + event("MODIFIED", "b", "11")[:40], false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &Watches{open: make(map[*watchedBody]bool), ended: make(map[string]map[types.UID]uint64)}
			b := w.follow(io.NopCloser(bytes.NewBufferString(tt.events)), "/api/v1/configmaps", url.Values{"sendInitialEvents": {"true"}})
			if _, err := io.CopyN(io.Discard, iotest.OneByteReader(b), int64(len(tt.events))); err != nil { // and no end
				t.Fatal(err)
			}
			list := &metadataList{}
			if err := json.Unmarshal([]byte(now), list); err != nil {
				t.Fatal(err)
			}
			if got := w.hasBrought(b, list); got != tt.want {
				t.Errorf("it has brought all: %t, want %t", got, tt.want)
			}
		})
	}
}

// A watch that goes on where another one ended knows what that one has shown.
func TestWatchesGoOn(t *testing.T) {
	t.Parallel()
	w := &Watches{open: make(map[*watchedBody]bool), ended: make(map[string]map[types.UID]uint64)}
	first := w.follow(io.NopCloser(bytes.NewBufferString(
		`{"type":"ADDED","object":{"metadata":{"uid":"a","resourceVersion":"9"}}}`+"\n")), "/api/v1/configmaps", url.Values{})
	if _, err := io.ReadAll(first); err != nil {
		t.Fatal(err)
	}
	second := w.follow(io.NopCloser(&bytes.Buffer{}), "/api/v1/configmaps", url.Values{"resourceVersion": {"9"}})
	if w.hasBrought(second, &metadataList{Metadata: metadata{ResourceVersion: "10"}}) {
		t.Error("it knows nothing of an object that was deleted between the two")
	}
	if !w.hasBrought(first, &metadataList{Metadata: metadata{ResourceVersion: "10"}}) {
		t.Error("a watch that has ended is waited for")
	}
}
