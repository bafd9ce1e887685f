package restmapping

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// TestWhatCausesARefresh holds that discovery is asked for what it can show, and
// not for the many events besides.
func TestWhatCausesARefresh(t *testing.T) {
	definition := func(change func(*customResource)) *customResource {
		c := &customResource{ObjectMeta: metav1.ObjectMeta{UID: "a", Generation: 1}, established: true}
		change(c)
		return c
	}
	established := definition(func(*customResource) {})
	named := definition(func(c *customResource) { c.established = false })

	service := func(change func(*apiService)) *apiService {
		s := &apiService{version: schema.GroupVersion{Group: "known", Version: "v1"}}
		change(s)
		return s
	}
	local := service(func(*apiService) {})
	unknown := service(func(s *apiService) { s.version.Group = "unknown" })
	away := service(func(s *apiService) { s.remote = true })
	remote := service(func(s *apiService) { s.remote, s.available = true, true })

	tests := map[string]struct {
		before, after any // nil before: added; nil after: deleted
		initial       bool
		want          bool
	}{
		"a definition of the first list": {after: established, initial: true},
		"a definition is added":          {after: named},
		"an established one is added":    {after: established, want: true},
		"it becomes established":         {before: named, after: established, want: true},
		"it is not established any more": {before: established, after: named, want: true},
		"its spec changes":               {before: established, after: definition(func(c *customResource) { c.Generation = 2 }), want: true},
		"it is another":                  {before: established, after: definition(func(c *customResource) { c.UID = "b" }), want: true},
		"it is being deleted":            {before: established, after: definition(func(c *customResource) { c.terminating = true }), want: true},
		"its labels change":              {before: established, after: definition(func(c *customResource) { c.ResourceVersion = "2" })},
		"an unestablished one changes":   {before: named, after: definition(func(c *customResource) { c.established = false; c.Generation = 2 })},
		"it is deleted":                  {before: established, want: true},
		"it is deleted unseen":           {before: cache.DeletedFinalStateUnknown{Obj: established}, want: true},
		"an unestablished one goes":      {before: named},

		"an APIService of the first list": {after: remote, initial: true},
		"a local one is added":            {after: local},
		"a local one of a new group":      {after: unknown, want: true},
		"a local one changes":             {before: local, after: service(func(s *apiService) { s.Generation = 2; s.available = true })},
		"a local one goes with its group": {before: unknown},
		"a local one goes":                {before: local, want: true},
		"a remote one is added":           {after: away, want: true},
		"a remote one becomes available":  {before: away, after: remote, want: true},
		"a remote one becomes local":      {before: away, after: service(func(s *apiService) { s.Generation = 2 }), want: true},
		"a remote one stays as it is":     {before: remote, after: service(func(s *apiService) { s.remote, s.available = true, true; s.ResourceVersion = "2" })},
		"a remote one is deleted":         {before: remote, want: true},
	}
	known := func(gv schema.GroupVersion) bool { return gv.Group == "known" }
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := watchedDefinitions(t, nil, nil)
			for _, handler := range []cache.ResourceEventHandler{d.customResourceHandler(), d.apiServiceHandler(known)} {
				switch {
				case tc.before == nil:
					handler.OnAdd(tc.after, tc.initial)
				case tc.after == nil:
					handler.OnDelete(tc.before)
				default:
					handler.OnUpdate(tc.before, tc.after)
				}
			}
			if got := len(d.changed) > 0; got != tc.want {
				t.Errorf("a refresh is caused: %t, want %t", got, tc.want)
			}
		})
	}
}
