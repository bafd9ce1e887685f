package record

import (
	"context"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules/syntax"
)

// When somebody deletes Kanon's namespace, the texts of the rules in it disappear as if each had been removed, and so
// do the records. Nobody asked for the children to be deleted. So before a rule counts as removed, the store verifies
// that Kanon's namespace is still the same. A rule that disappeared with the namespace stops, and its objects stay as
// they are until the rule exists again.

// removalCheck says whether a rule was really removed.
type removalCheck int

const (
	// removalUnchecked: nobody asked.
	removalUnchecked removalCheck = iota
	// removalAsked: somebody asked, and Run has yet to find out.
	removalAsked
	// removalMeant: the namespace still exists, and the rule does not.
	removalMeant
)

// IsRemovalMeant reports whether a rule whose text is gone was removed, rather than having disappeared with Kanon's
// namespace. If that is not known yet, it returns false; Run finds out and calls Changed.
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

// checkRemoval finds out whether a rule was removed, if somebody asked. The store forgets a rule that disappeared
// with the namespace, just as its record disappeared. checkRemoval reports whether it succeeded.
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
		s.annotate(NamePrefix+id, source.Annotations{})
	}
	s.changed(id)
	return true
}

// isSameNamespace reports whether Kanon's namespace exists, is not being deleted, and still has the record live.
// Without the record it may be another namespace of the same name; that only matters if children would be deleted.
func (s *Store) isSameNamespace(ctx context.Context, live *unstructured.Unstructured, deletes bool) (bool, error) {
	// The order matters: if the record still exists after the namespace was checked, nobody had deleted the namespace
	// before.
	if accepts, err := s.acceptsObjects(ctx); err != nil || !accepts {
		return false, err
	}
	if !deletes || live == nil {
		return true, nil
	}
	return s.exists(ctx, live)
}

// recheckAll reads the records again, if Recheck asked for it. It has the lost records of existing rules written
// again, and forgets the other lost ones. It reports whether that succeeded.
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
			s.annotate(NamePrefix+id, source.Annotations{})
		} // else somebody restored the record, and its annotations count
	}
	good := s.endInGoneNamespaces(ctx)
	s.mu.Lock()
	s.recheck = false
	s.mu.Unlock()
	s.changed("")
	return good
}

// endInGoneNamespaces deletes the records of removals that wait in a tenant's namespace that no longer exists.
// Everything that a tenant's rule manages is in that namespace.
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

// lost returns the origins, by id, of the rules whose record no longer exists in the cluster.
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
