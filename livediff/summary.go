package livediff

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/guard"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
)

// Summary counts what changes for several parents, and asks the prune guard about it as if the rule were a new revision.
type Summary struct {
	parents, affected int
	counts            map[counted]int
	guard             guard.Guard
	revision          guard.Revision
}

// counted is what is counted together.
type counted struct {
	action Action
	kind   schema.GroupVersionKind
}

// NewSummary makes the Summary of these parents. pruneLimit is that of the rule.
func NewSummary(parents []*unstructured.Unstructured, pruneLimit int) *Summary {
	s := &Summary{parents: len(parents), counts: map[counted]int{}, revision: guard.Revision{Hash: "diff", Limit: pruneLimit}}
	keys := queue.Keys{}
	for _, parent := range parents {
		keys[keyOf(parent)] = true
	}
	s.guard.Begin(s.revision, keys, false)
	return s
}

func keyOf(parent *unstructured.Unstructured) queue.Key {
	return queue.Key{Parent: types.NamespacedName{Namespace: parent.GetNamespace(), Name: parent.GetName()}}
}

// Add takes in what changes for one of the parents.
func (s *Summary) Add(changes *Changes) {
	var deleted []identity.ID
	for _, change := range changes.All {
		s.counts[counted{change.Action, change.Object.GroupVersionKind()}]++
		if change.Action == Deleted {
			deleted = append(deleted, identity.Of(change.Object))
		}
	}
	if len(changes.All) > 0 {
		s.affected++
	}
	s.guard.Decide(s.revision, keyOf(changes.Parent), deleted)
}

// Differs reports whether anything changes for any parent.
func (s *Summary) Differs() bool { return s.affected > 0 }

// String is one line, such as "12 parents: 1 ConfigMap is deleted, 3 Deployments change".
func (s *Summary) String() string {
	var parts []string
	for what, n := range s.counts {
		parts = append(parts, what.say(n))
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		parts = []string{"nothing changes"}
	}
	if blocked := s.guard.Blocked(); blocked != nil {
		parts = append(parts, "the prune guard would block the deletions: this rule "+blocked.Reason)
	}
	parents := fmt.Sprintf("%d parents", s.parents)
	if s.parents == 1 {
		parents = "1 parent"
	}
	return parents + ": " + strings.Join(parts, ", ")
}

// verbs are what happens to one object, and to several.
var verbs = map[Action][2]string{ //nolint:gochecknoglobals // a table
	Created:   {"is created", "are created"},
	Updated:   {"changes", "change"},
	Recreated: {"is recreated", "are recreated"},
	Deleted:   {"is deleted", "are deleted"},
	Orphaned:  {"is orphaned", "are orphaned"},
	Patched:   {"is patched", "are patched"},
	Status:    {"has another status", "have another status"},
	Refused:   {"is refused", "are refused"},
}

func (c counted) say(n int) string {
	kind := c.kind.Kind
	if n == 1 {
		return "1 " + kind + " " + verbs[c.action][0]
	}
	plural, _ := meta.UnsafeGuessKindToResource(c.kind) // only its ending counts, which needs no cluster
	if ending, ok := strings.CutPrefix(plural.Resource, strings.ToLower(kind)); ok {
		kind += ending
	} else {
		kind = strings.TrimSuffix(kind, "y") + "ies"
	}
	return fmt.Sprintf("%d %s %s", n, kind, verbs[c.action][1])
}
