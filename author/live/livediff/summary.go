package livediff

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/engine/guard"
	"kanon.dev/kanon/engine/queue"
)

// Summary counts the changes for several parents, and asks the prune guard about them as if the rule were a new
// revision.
type Summary struct {
	// parents counts those that the rule has to do with. affected counts the parents, and the objects of patches, that
	// change.
	parents, affected int
	counts            map[counted]int
	// failing counts the parents for which the rule cannot do everything.
	failing int
	// idle counts the parents for which Kanon changes nothing, by the reason.
	idle  map[Idle]int
	guard *guard.Guard
	// partial is true if the rule may have other parents, and loses if any of the compared parents may lose something.
	partial, loses bool
}

// counted groups changes.
type counted struct {
	action Action
	kind   schema.GroupVersionKind
}

// NewSummary makes the Summary of these parents. pruneLimit is the rule's. partial is true if the rule may have other
// parents.
func NewSummary(parents []*unstructured.Unstructured, pruneLimit int, partial bool) *Summary {
	s := &Summary{
		parents: len(parents), counts: map[counted]int{}, idle: map[Idle]int{}, guard: guard.New(guard.Revision{Hash: "diff", Limit: pruneLimit}), partial: partial,
	}
	keys := queue.Keys{}
	for _, parent := range parents {
		keys[keyOf(parent)] = true
	}
	s.guard.Begin(keys, false)
	return s
}

func keyOf(parent *unstructured.Unstructured) queue.Key {
	return queue.Key{Parent: types.NamespacedName{Namespace: parent.GetNamespace(), Name: parent.GetName()}}
}

// Add adds the changes for one of the parents. A parent that the rule has nothing to do with is not counted.
func (s *Summary) Add(changes *Changes) {
	if !changes.Concerns() {
		s.parents--
	}
	if len(changes.Failures()) > 0 {
		s.failing++
	}
	for _, change := range changes.All {
		s.counts[counted{change.Action, change.Object.GroupVersionKind()}]++
	}
	if len(changes.All) > 0 {
		s.affected++
	}
	if changes.Idle != "" {
		s.idle[changes.Idle]++
	}
	s.loses = s.loses || len(changes.losses) > 0
	switch parent := keyOf(changes.Parent); {
	case changes.Idle == Terminating:
		s.guard.Decide(parent, nil)
	case changes.unsure:
		s.guard.Doubt(parent, changes.losses)
	default:
		s.guard.Decide(parent, changes.losses)
	}
}

// AddRestored adds the changes that Restored returns.
func (s *Summary) AddRestored(changes []Change) {
	s.affected += len(changes)
	for _, change := range changes {
		s.counts[counted{change.Action, change.Object.GroupVersionKind()}]++
	}
}

// Differs reports whether anything changes for any parent.
func (s *Summary) Differs() bool { return s.affected > 0 }

// String is one line, such as "12 parents: 1 ConfigMap is deleted, 3 Deployments change".
func (s *Summary) String() string {
	var parts []string
	for what, n := range s.counts {
		parts = append(parts, what.say(n))
	}
	for why, n := range s.idle {
		text := string(why)
		if n > 1 {
			text = strings.Replace(text, "is ", "are ", 1)
		}
		parts = append(parts, countOf(n)+" "+text)
	}
	switch {
	case s.failing == 1:
		parts = append(parts, "1 parent fails")
	case s.failing > 1:
		parts = append(parts, countOf(s.failing)+" fail")
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		parts = []string{"nothing changes"}
	}
	if blocked := s.guard.Blocked(); blocked != nil {
		parts = append(parts, "the prune guard would block the deletions: this rule "+blocked.Reason)
	}
	if s.partial && s.loses {
		parts = append(parts, "the prune guard counts the rule's other parents, too, which are not compared here")
	}
	return countOf(s.parents) + ": " + strings.Join(parts, ", ")
}

func countOf(parents int) string {
	if parents == 1 {
		return "1 parent"
	}
	return fmt.Sprintf("%d parents", parents)
}

// verbs are the verbs for one object, and for several.
var verbs = map[Action][2]string{ //nolint:gochecknoglobals // a table
	Created:   {"is created", "are created"},
	Updated:   {"changes", "change"},
	Recreated: {"is recreated", "are recreated"},
	Deleted:   {"is deleted", "are deleted"},
	Orphaned:  {"is orphaned", "are orphaned"},
	Patched:   {"is patched", "are patched"},
	Restored:  {"is restored", "are restored"},
	Status:    {"has another status", "have another status"},
	Refused:   {"is refused", "are refused"},
	Kept:      {"is kept", "are kept"},
}

func (c counted) say(n int) string {
	if n == 1 {
		return "1 " + c.kind.Kind + " " + verbs[c.action][0]
	}
	return fmt.Sprintf("%d %s %s", n, live.Plural(c.kind), verbs[c.action][1])
}
