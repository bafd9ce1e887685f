package livediff

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func object(apiVersion, kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace("shop")
	o.SetName(name)
	return o
}

func TestSummary(t *testing.T) {
	t.Parallel()
	web := func(action Action, name string) Change {
		return Change{Action: action, Object: object("apps/v1", "Deployment", name)}
	}
	for name, test := range map[string]struct {
		limit   int
		changes [][]Change // of each parent
		want    string
	}{
		"nothing": {limit: 10, changes: [][]Change{nil}, want: "1 parent: nothing changes"},
		"each kind and action": {
			limit: 10,
			changes: [][]Change{
				{web(Updated, "a"), web(Updated, "b"), {Action: Deleted, Object: object("v1", "ConfigMap", "c")}},
				{web(Created, "d"), {Action: Patched, Object: object("networking.k8s.io/v1", "NetworkPolicy", "n")}, {Action: Patched, Object: object("networking.k8s.io/v1", "NetworkPolicy", "m")}},
			},
			want: "2 parents: 1 ConfigMap is deleted, 1 Deployment is created, 2 Deployments change, 2 NetworkPolicies are patched",
		},
		"more deletions than the limit": {
			limit:   1,
			changes: [][]Change{{web(Deleted, "a")}, {web(Deleted, "b")}},
			want:    "2 parents: 2 Deployments are deleted, the prune guard would block the deletions: this rule would delete 2 objects, and pruneLimit is 1",
		},
		"what is never within the limit": {
			limit:   10,
			changes: [][]Change{{{Action: Deleted, Object: object("v1", "PersistentVolumeClaim", "data")}}},
			want:    "1 parent: 1 PersistentVolumeClaim is deleted, the prune guard would block the deletions: this rule would delete 1 object, among them a PersistentVolumeClaim, a Namespace or a CustomResourceDefinition",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var parents []*unstructured.Unstructured
			for i := range test.changes {
				parents = append(parents, object("shop.example.com/v1", "WebApp", strings.Repeat("p", i+1)))
			}
			s := NewSummary(parents, test.limit)
			for i, changes := range test.changes {
				s.Add(&Changes{Parent: parents[i], All: changes})
			}
			if got := s.String(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if s.Differs() != (len(test.changes[0]) > 0) {
				t.Errorf("differs: %t", s.Differs())
			}
		})
	}
}
