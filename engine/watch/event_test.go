package watch_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/watch"
)

func TestTagsOfAnEvent(t *testing.T) {
	t.Parallel()
	tagged := func(tag string) *watch.Object {
		return watch.Of(&unstructured.Unstructured{Object: map[string]any{}}).Tagged(tag)
	}
	for _, tt := range []struct {
		event watch.Event
		want  []string
	}{
		{watch.Event{New: tagged("a")}, []string{"a"}},
		{watch.Event{Old: tagged("a")}, []string{"a"}},
		{watch.Event{Old: tagged("a"), New: tagged("a")}, []string{"a"}},
		{watch.Event{Old: tagged("a"), New: tagged("b")}, []string{"a", "b"}},
		{watch.Event{Old: tagged(""), New: tagged("b")}, []string{"b"}},
		{watch.Event{Old: tagged(""), New: tagged("")}, nil},
	} {
		if got := tt.event.Tags(); !slices.Equal(got, tt.want) {
			t.Errorf("%q and %q: %q, want %q", tt.event.Old.Tag(), tt.event.New.Tag(), got, tt.want)
		}
	}
}
