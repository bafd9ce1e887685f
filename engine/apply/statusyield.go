package apply

import (
	"context"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kanon.dev/kanon/engine/apply/fieldset"
)

// Yield removes from s.Content what another manager, for which counts is true, owns with another value and the
// manager of s does not own. It returns the remaining content and what was removed. A caller that asks before each
// apply never takes a path from such a manager, so the two cannot take it from each other for ever.
//
// s.Content itself is not changed. If it does not fit the kind's schema, it is returned as it is: the API server
// reports better what is wrong. The error means that the schema could not be loaded.
func (w *StatusWriter) Yield(ctx context.Context, s Status, counts func(manager string) bool) (map[string]any, []fieldset.Contested, error) {
	rivals := make(map[string]*fieldpath.Set)
	for _, e := range fieldset.EntriesOf(s.Object) {
		if e.Manager == s.Manager || !counts(e.Manager) {
			continue
		}
		if set, err := e.Fields(); err == nil { // nothing is known about an entry that cannot be decoded
			rivals[e.Manager] = set
		}
	}
	if len(s.Content) == 0 || len(rivals) == 0 {
		return s.Content, nil, nil
	}
	kind, err := w.server.Kind(ctx, s.Object.GroupVersionKind())
	if err != nil {
		return nil, nil, err
	}
	wanted, differing, ok := s.differing(kind)
	if !ok {
		return s.Content, nil, nil
	}
	var contested []fieldset.Contested
	own, lost := ownedBy(s.Object, s.Manager), &fieldpath.Set{}
	for manager, held := range rivals {
		for path := range differing.Intersection(held).Difference(own).All() {
			contested = append(contested, fieldset.Contested{Path: path.String(), Manager: manager})
			lost.Insert(path.Copy())
		}
	}
	if len(contested) == 0 {
		return s.Content, nil, nil
	}
	return statusIn(wanted.RemoveItems(lost)), contested, nil
}

// differing returns the paths of a status for which the object has other values; ok is false if they cannot be
// compared.
func (s Status) differing(k fieldset.Kind) (wanted *typed.TypedValue, paths *fieldpath.Set, ok bool) {
	wanted, err := k.Converter.ObjectToTyped(s.desired())
	if err != nil {
		return nil, nil, false
	}
	all, err := wanted.ToFieldSet()
	if err != nil {
		return nil, nil, false
	}
	live, err := s.typedStatus(k)
	if err != nil {
		return nil, nil, false
	}
	difference, err := wanted.Compare(live.ExtractItems(all, typed.WithAppendKeyFields()))
	if err != nil {
		return nil, nil, false
	}
	return wanted, difference.Modified, true
}
