package tenant_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"kanon.dev/kanon/engine/tenant"
)

// rights answers reviews by what is granted: "verb namespace/name", where an empty namespace is all.
type rights struct {
	granted []string
	asked   int
	err     error
	users   []string
}

func (r *rights) Create(ctx context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	r.asked++
	if !tenant.FromContext(ctx).IsZero() {
		return nil, errors.New("a review is Kanon's own request")
	}
	r.users = append(r.users, review.Spec.User)
	a := review.Spec.ResourceAttributes
	review.Status.Allowed = slices.Contains(r.granted, a.Verb+" "+a.Namespace+"/"+a.Name)
	return review, r.err
}

// clockAt is a clock that shows what a function returns.
type clockAt func() time.Time

func (c clockAt) Now() time.Time { return c() }

func TestCheck(t *testing.T) {
	t.Parallel()
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	web := tenant.Identity{ServiceAccount: types.NamespacedName{Namespace: "team-a", Name: "web"}}
	confined := web
	confined.Confined = true
	everywhere := []string{"get /", "list /", "watch /"}
	inA := []string{"get team-a/", "list team-a/", "watch team-a/"}
	for name, test := range map[string]struct {
		who       tenant.Identity
		granted   []string
		namespace string
		object    string
		want      string
	}{
		"Kanon itself":                          {namespace: "b"},
		"all rights":                            {who: web, granted: everywhere, namespace: "b"},
		"rights in the namespace":               {who: web, granted: inA, namespace: "team-a"},
		"rights in another namespace":           {who: web, granted: inA, namespace: "b", want: "ServiceAccount team-a/web may not get, list, watch configmaps in namespace b"},
		"all namespaces with rights in one":     {who: web, granted: inA, want: "ServiceAccount team-a/web may not get, list, watch configmaps at the cluster scope"},
		"a verb is missing":                     {who: web, granted: []string{"get b/", "list b/"}, namespace: "b", want: "ServiceAccount team-a/web may not watch configmaps in namespace b"},
		"one object by name":                    {who: web, granted: []string{"get b/x"}, namespace: "b", object: "x"},
		"another object by name":                {who: web, granted: []string{"get b/x"}, namespace: "b", object: "y", want: "ServiceAccount team-a/web may not get, list, watch configmaps in namespace b"},
		"confined, in its namespace":            {who: confined, granted: inA, namespace: "team-a"},
		"confined, elsewhere, with all rights":  {who: confined, granted: everywhere, namespace: "b", want: "the rule is confined to namespace team-a and may not read configmaps in namespace b"},
		"confined, all namespaces, with rights": {who: confined, granted: everywhere, want: "the rule is confined to namespace team-a and may not read configmaps at the cluster scope"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reads := tenant.NewReads(&rights{granted: test.granted}, clock.RealClock{})
			err := reads.Check(tenant.NewContext(t.Context(), test.who), test.who, tenant.Read{Resource: configMaps, Namespace: test.namespace, Name: test.object})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// An answer is kept for some seconds, and no longer; one that did not come is not kept.
func TestAnswersAreKept(t *testing.T) {
	t.Parallel()
	web := tenant.Identity{ServiceAccount: types.NamespacedName{Namespace: "team-a", Name: "web"}}
	read := tenant.Read{Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespace: "team-a"}
	now := time.Unix(1000, 0)
	cluster := &rights{granted: []string{"get /", "list /", "watch /"}, err: errors.New("no answer")}
	reads := tenant.NewReads(cluster, clockAt(func() time.Time { return now }))
	check := func(wantErr bool, wantAsked int) {
		t.Helper()
		cluster.asked = 0
		if err := reads.Check(t.Context(), web, read); (err != nil) != wantErr || cluster.asked != wantAsked {
			t.Fatalf("%v, after %d reviews; want an error: %v, after %d", err, cluster.asked, wantErr, wantAsked)
		}
	}
	check(true, 1)
	cluster.err = nil
	check(false, 3)
	check(false, 0)
	cluster.granted = nil
	now = now.Add(tenant.Lifetime - 1)
	check(false, 0)
	now = now.Add(2)
	check(true, 6)
	check(true, 0)
	cluster.granted = []string{"get team-a/", "list team-a/", "watch team-a/"}
	now = now.Add(tenant.Lifetime + 1)
	check(false, 6)
}
