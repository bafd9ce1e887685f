package patchwriter

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/patchset"
	"kanon.dev/kanon/engine/apply/refusal"
)

// conflictWith is the error of a patch that may not change a field, because of a manager that owns it; nil if it may.
func (p Patch) conflictWith(owners []string, path fieldpath.Path) error {
	for _, owner := range owners {
		if why := p.refuses(owner); why != "" {
			return &refusal.FieldConflictError{Ref: mark.RefOf(p.Object), Path: fieldset.PathText(path), Manager: owner, Why: why}
		}
	}
	return nil
}

// otherOwners are the field managers that own a field of the target, apart from the patch.
func (p Patch) otherOwners(path fieldpath.Path) []string {
	return slices.DeleteFunc(patchset.OwnersOf(p.Object, path), func(owner string) bool { return owner == p.Manager })
}

// refuses is why a patch leaves a field to a manager that owns it; empty if it does not.
func (p Patch) refuses(manager string) (why string) {
	if p.Keeps != nil {
		why = p.Keeps(manager)
	}
	if why == "" && p.Refuse {
		why = "the patch has conflict: Refuse, so it does not change this"
	}
	return why
}
