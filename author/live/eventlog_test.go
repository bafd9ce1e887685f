package live_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/engine/identity"
)

func decode(t *testing.T, text string) live.Event {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	event, err := live.EventOf(object)
	if err != nil {
		t.Fatal(err)
	}
	return event
}

const head = "apiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: shop}\n" +
	"involvedObject: {apiVersion: shop.example.com/v1, kind: WebApp, namespace: shop, name: web, uid: u}\n"

func TestList(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 5, 6, 0, 0, 0, time.UTC)
	once := decode(t, head+"type: Warning\nreason: NameTaken\nmessage: \"a\\nb\"\nfirstTimestamp: 2026-03-05T05:55:00Z\nlastTimestamp: 2026-03-05T05:55:00Z\n")
	often := decode(t, head+"type: Normal\nreason: Adopted\nmessage: m\ncount: 3\nfirstTimestamp: 2026-03-05T04:00:00Z\nlastTimestamp: 2026-03-05T05:59:00Z\n")
	modern := decode(t, head+"type: Normal\nreason: Deleted\nmessage: m\neventTime: 2026-03-05T05:59:30.000000Z\nfirstTimestamp: null\nlastTimestamp: null\n")
	var out strings.Builder
	printer := live.Printer{Out: &out}
	if err := printer.Print(live.EventList([]live.Event{once, often, modern}, true, now)); err != nil {
		t.Fatal(err)
	}
	const want = `NAMESPACE   LAST SEEN         TYPE      REASON      OBJECT       MESSAGE
shop        5m                Warning   NameTaken   WebApp/web   a b
shop        60s (x3 over 120m)  Normal    Adopted     WebApp/web   m
shop        30s               Normal    Deleted     WebApp/web   m
`
	fold := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if diff := cmp.Diff(fold(want), fold(out.String())); diff != "" {
		t.Error(diff)
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	event := decode(t, head+"type: Warning\nreason: NameTaken\nmessage: m\n")
	web, other := event.Object, event.Object
	other.Name = "other"
	elsewhere := web
	elsewhere.Namespace = "elsewhere"
	ofCore := identity.ID{NamespacedName: web.NamespacedName}
	ofCore.Kind = "WebApp"
	for name, tt := range map[string]struct {
		filter live.EventFilter
		want   bool
	}{
		"all":               {live.EventFilter{}, true},
		"by type":           {live.EventFilter{Types: []string{"normal", "warning"}}, true},
		"another type":      {live.EventFilter{Types: []string{"Normal"}}, false},
		"by object":         {live.EventFilter{Object: &web}, true},
		"another name":      {live.EventFilter{Object: &other}, false},
		"another namespace": {live.EventFilter{Object: &elsewhere}, false},
		"in any namespace":  {live.EventFilter{Object: &elsewhere, Anywhere: true}, true},
		"another group":     {live.EventFilter{Object: &ofCore}, false},
		"both":              {live.EventFilter{Types: []string{"Normal"}, Object: &web}, false},
	} {
		if got, err := tt.filter.Matches(t.Context(), event); err != nil || got != tt.want {
			t.Errorf("%s: selected %t, %v, want %t", name, got, err, tt.want)
		}
	}
}
