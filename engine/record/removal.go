package record

import (
	"context"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/rules/syntax"
)

// When somebody deletes Kanon's namespace, the texts of the rules in it disappear as if each had been removed, and so do the
// records. Nobody asked for the children to be deleted. So before a rule counts as removed, the store makes sure that the
// namespace is the one that the rule was in. A rule that disappeared with the namespace stops, and its objects stay as they are
// until the rule exists again.

// removalCheck is what is known of the removal of a rule.
type removalCheck int

const (
	// removalUnchecked: nobody asked.
	removalUnchecked removalCheck = iota
	// removalAsked: somebody asked, and Run has to find out.
	removalAsked
	// removalMeant: the namespace exists as before, and the rule does not.
	removalMeant
)

// IsRemovalMeant reports whether a rule whose text is gone was removed, and did not disappear with Kanon's namespace. Where that
// is not known, Run finds out and calls Changed.
func (s *Store) IsRemovalMeant(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byID[id]
	if e == nil || e.removal == removalMeant {
		return e != nil
	}
	e.removal = removalAsked
	s.Sync()
	return false
}

// checkRemoval finds out whether a rule was removed, where somebody asked. The store forgets a rule that disappeared with the
// namespace, as its record did. It reports whether that succeeded.
func (s *Store) checkRemoval(ctx context.Context, id string) bool {
	s.mu.Lock()
	e := s.byID[id]
	if e == nil || e.removal != removalAsked {
		s.mu.Unlock()
		return true
	}
	live, rule, deletes := e.live, e.stored.Rule, e.stored.OnRuleDeletion == syntax.DeleteChildren
	s.mu.Unlock()

	log := logr.FromContextOrDiscard(ctx).WithValues("rule", rule)
	same, err := s.isSameNamespace(ctx, live, deletes)
	if err != nil {
		if ctx.Err() == nil {
			log.Error(err, "a rule does not exist any more, and it is not known whether it was removed; retrying")
		}
		return false
	}
	s.mu.Lock()
	isGone := false
	switch {
	case e.removal != removalAsked: // the rule exists again
	case same:
		e.removal = removalMeant
	default:
		log.Info("a rule disappeared with Kanon's namespace; its objects stay as they are until the rule exists again")
		delete(s.byID, id)
		isGone = true
	}
	s.mu.Unlock()
	if isGone {
		s.unannotate(id)
	}
	s.changed(id)
	return true
}

// isSameNamespace reports whether Kanon's namespace exists, is not being deleted, and still has a record. Without the record it
// may be another namespace of that name, which matters where children would be deleted.
func (s *Store) isSameNamespace(ctx context.Context, live *unstructured.Unstructured, deletes bool) (bool, error) {
	// First the namespace, then the record: if the record exists afterwards, nobody had deleted the namespace before.
	if accepts, err := s.acceptsObjects(ctx); err != nil || !accepts {
		return false, err
	}
	if !deletes || live == nil {
		return true, nil
	}
	return s.exists(ctx, live)
}

// recheckAll reads the records again, where that is due. It has those written again whose rule exists, and forgets the others
// that are gone. It reports whether that succeeded.
func (s *Store) recheckAll(ctx context.Context) bool {
	s.mu.Lock()
	due := s.recheck
	s.mu.Unlock()
	if !due {
		return true
	}
	records, err := s.list(ctx)
	if err != nil {
		return false
	}
	for id, origin := range s.lost(records) {
		exists, err := s.originExists(ctx, origin)
		if err != nil {
			return false
		}
		s.mu.Lock()
		if e := s.byID[id]; exists && e != nil {
			e.live, e.sealed, e.newer, e.err = nil, false, nil, nil
		} else {
			delete(s.byID, id)
		}
		s.mu.Unlock()
		if !slices.ContainsFunc(records, func(other unstructured.Unstructured) bool { return other.GetName() == NamePrefix+id }) {
			s.unannotate(id)
		} // else somebody has restored it, and its annotations count
	}
	good := s.endInGoneNamespaces(ctx)
	s.mu.Lock()
	s.recheck = false
	s.mu.Unlock()
	s.changed("")
	return good
}

// endInGoneNamespaces has the records deleted of removals that wait in the namespace of a tenant which does not exist any more. All
// that a tenant's rule has is in its namespace.
func (s *Store) endInGoneNamespaces(ctx context.Context) (good bool) {
	waiting := make(map[string][]string)
	s.mu.Lock()
	for id, e := range s.byID {
		if namespace, _, ok := strings.Cut(e.stored.Rule, "/"); ok && e.stored.Confined && e.wanted.Removal != "" {
			waiting[namespace] = append(waiting[namespace], id)
		}
	}
	s.mu.Unlock()
	good = true
	for namespace, ids := range waiting {
		exists, err := s.namespaceExists(ctx, namespace)
		if err != nil {
			logr.FromContextOrDiscard(ctx).V(2).Info("cannot find out whether the namespace of a removed rule exists", "namespace", namespace, "reason", err.Error())
		}
		if good = good && err == nil; exists || err != nil {
			continue
		}
		for _, id := range ids {
			s.DeleteIf(id, func() bool { return s.byID[id].wanted.Removal != "" })
		}
	}
	return good
}

// lost has the origins of the rules, by id, whose record is not among those of the cluster any more.
func (s *Store) lost(records []unstructured.Unstructured) map[string]Origin {
	exists := make(map[types.UID]bool, len(records))
	for i := range records {
		exists[records[i].GetUID()] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make(map[string]Origin)
	for id, e := range s.byID {
		if e.live != nil && !exists[e.live.GetUID()] {
			found[id] = e.wanted.Origin
		}
	}
	return found
}
