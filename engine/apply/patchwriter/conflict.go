package patchwriter

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/patchset"
	"kanon.dev/kanon/engine/apply/refusal"
)

// conflictWith returns an error if one of a field's owners keeps it; nil if the patch may change it.
func (p Patch) conflictWith(owners []string, path fieldpath.Path) error {
	for _, owner := range owners {
		if why := p.refuses(owner); why != "" {
			return &refusal.FieldConflictError{Ref: mark.RefOf(p.Object), Path: fieldset.PathText(path), Manager: owner, Why: why}
		}
	}
	return nil
}

// otherOwners returns the field managers of a field of the target, apart from the patch.
func (p Patch) otherOwners(path fieldpath.Path) []string {
	return slices.DeleteFunc(patchset.OwnersOf(p.Object, path), func(owner string) bool { return owner == p.Manager })
}

// refuses returns why a patch leaves a field to its owner; empty if it does not.
func (p Patch) refuses(manager string) (why string) {
	if p.Keeps != nil {
		why = p.Keeps(manager)
	}
	if why == "" && p.Refuse {
		why = "the patch has conflict: Refuse, so it does not change this"
	}
	return why
}
