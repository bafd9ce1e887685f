package parents

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/queue"
)

// denials has, by the rule's id and parent, what the ServiceAccount of the rule was not allowed to do.
type denials map[string]map[types.NamespacedName]string

// SetDenied stores what the last reconcile of a parent was not allowed to do; empty if nothing was denied. It reports
// whether that is a change.
func (s *Store) SetDenied(k queue.Key, what string) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.denials.set(k, what)
}

// Denied returns one thing that the ServiceAccount of a rule is not allowed to do, and for how many parents anything
// was denied.
func (s *Store) Denied(rule string) (what string, parents int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.denials[rule]
	if len(all) == 0 {
		return "", 0
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(all)), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all[first], len(all)
}

func (d denials) set(k queue.Key, what string) (changed bool) {
	if k.Patch != "" || d[k.Rule][k.Parent] == what {
		return false // the parents report what blocks a patch
	}
	if what == "" {
		delete(d[k.Rule], k.Parent)
		if len(d[k.Rule]) == 0 {
			delete(d, k.Rule)
		}
		return true
	}
	if d[k.Rule] == nil {
		d[k.Rule] = make(map[types.NamespacedName]string)
	}
	d[k.Rule][k.Parent] = what
	return true
}
