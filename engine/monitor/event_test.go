package monitor_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/wire"
)

func TestTagsOfAnEvent(t *testing.T) {
	t.Parallel()
	tagged := func(tag string) *wire.Object {
		return wire.Of(&unstructured.Unstructured{Object: map[string]any{}}).Tagged(tag)
	}
	for _, tt := range []struct {
		event monitor.Event
		want  []string
	}{
		{monitor.Event{New: tagged("a")}, []string{"a"}},
		{monitor.Event{Old: tagged("a")}, []string{"a"}},
		{monitor.Event{Old: tagged("a"), New: tagged("a")}, []string{"a"}},
		{monitor.Event{Old: tagged("a"), New: tagged("b")}, []string{"a", "b"}},
		{monitor.Event{Old: tagged(""), New: tagged("b")}, []string{"b"}},
		{monitor.Event{Old: tagged(""), New: tagged("")}, nil},
	} {
		if got := tt.event.Tags(); !slices.Equal(got, tt.want) {
			t.Errorf("%q and %q: %q, want %q", tt.event.Old.Tag(), tt.event.New.Tag(), got, tt.want)
		}
	}
}
