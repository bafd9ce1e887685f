package livediff

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/identity"
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
	policy := func(name string) Change {
		return Change{Action: Patched, Object: object("networking.k8s.io/v1", "NetworkPolicy", name)}
	}
	losing := func(change Change) *Changes {
		return &Changes{All: []Change{change}, losses: []identity.ID{identity.Of(change.Object)}}
	}
	for name, test := range map[string]struct {
		limit   int
		partial bool
		changes []*Changes // of each parent
		want    string
	}{
		"nothing": {limit: 10, changes: []*Changes{{}}, want: "1 parent: nothing changes"},
		"each kind and action": {
			limit: 10,
			changes: []*Changes{
				{All: []Change{web(Updated, "a"), web(Updated, "b"), {Action: Deleted, Object: object("v1", "ConfigMap", "c")}}},
				{All: []Change{web(Created, "d"), policy("n"), policy("m")}},
			},
			want: "2 parents: 1 ConfigMap is deleted, 1 Deployment is created, 2 Deployments change, 2 NetworkPolicies are patched",
		},
		"more deletions than the limit": {
			limit:   1,
			changes: []*Changes{losing(web(Deleted, "a")), losing(web(Deleted, "b"))},
			want:    "2 parents: 2 Deployments are deleted, the prune guard would block the deletions: this rule would delete 2 objects, and pruneLimit is 1",
		},
		"recreations count as deletions": {
			limit:   1,
			changes: []*Changes{losing(web(Recreated, "a")), losing(web(Deleted, "b"))},
			want: "2 parents: 1 Deployment is deleted, 1 Deployment is recreated, the prune guard would block the deletions: " +
				"this rule would delete 2 objects, and pruneLimit is 1",
		},
		"what is never within the limit": {
			limit:   10,
			changes: []*Changes{losing(Change{Action: Deleted, Object: object("v1", "PersistentVolumeClaim", "data")})},
			want: "1 parent: 1 PersistentVolumeClaim is deleted, the prune guard would block the deletions: " +
				"this rule would delete 1 object, among them a PersistentVolumeClaim, a Namespace or a CustomResourceDefinition",
		},
		"what parents may lose at most": {
			limit:   1,
			changes: []*Changes{losing(web(Deleted, "a")), {unsure: true, losses: []identity.ID{identity.Of(object("v1", "ConfigMap", "b"))}}},
			want: "2 parents: 1 Deployment is deleted, the prune guard would block the deletions: " +
				"this rule would delete 1 object, and up to 1 more of 1 parent that cannot be evaluated now, and pruneLimit is 1",
		},
		"parents for which nothing happens": {
			limit:   10,
			changes: []*Changes{{Idle: Suspended}, {Idle: Suspended}, {Idle: Terminating}},
			want:    "3 parents: 1 parent is being deleted, 2 parents are suspended",
		},
		"some of the parents, which lose nothing": {
			limit: 10, partial: true, changes: []*Changes{{All: []Change{web(Updated, "a")}}}, want: "1 parent: 1 Deployment changes",
		},
		"some of the parents": {
			limit: 10, partial: true, changes: []*Changes{losing(web(Deleted, "a"))},
			want: "1 parent: 1 Deployment is deleted, the prune guard counts the rule's other parents, too, which are not compared here",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var parents []*unstructured.Unstructured
			for i, changes := range test.changes {
				changes.Parent = object("shop.example.com/v1", "WebApp", strings.Repeat("p", i+1))
				parents = append(parents, changes.Parent)
			}
			s := NewSummary(parents, test.limit, test.partial)
			for _, changes := range test.changes {
				s.Add(changes)
			}
			if got := s.String(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if s.Differs() != (len(test.changes[0].All) > 0) {
				t.Errorf("differs: %t", s.Differs())
			}
		})
	}
}
