package patchset

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/engine/apply/fieldset"
)

// Patches. A patch sets fields of an object that is not ours. What all parents of one patch set in one object is put
// together and applied by one manager, see Manager: with a manager for each parent, every write to an object that
// five hundred parents patch took the API server more than a second.

// Prefix begins the field managers of all patches.
const Prefix = "kanon-patch-"

// Manager is the field manager of one patch of a rule, in every object that it is for. A patch's id has at most 63
// characters, so that the name has fewer than the 128 that the API server takes.
func Manager(ruleID, patch string) string { return ManagersOf(ruleID) + patch }

// ManagersOf begins the field managers of all patches of a rule.
func ManagersOf(ruleID string) string { return Prefix + ruleID + "-" }

// PatchEntry is what a manager of patches holds in an object, whatever the apiVersion that it was applied with; nil when
// it has no entry.
func PatchEntry(obj *unstructured.Unstructured, manager string) (*fieldpath.Set, string) {
	var held *fieldpath.Set
	version := ""
	for _, e := range fieldset.EntriesOf(obj) {
		if e.Manager != manager || e.Operation != fieldset.OperationApply {
			continue
		}
		set, err := e.Fields()
		if err != nil {
			set = &fieldpath.Set{} // it exists, and is applied again
		}
		if held == nil {
			held = set
		} else {
			held = held.Union(set)
		}
		version = e.APIVersion
	}
	return held, version
}

// Patched lists the patches of a rule that hold something in obj, by id.
func Patched(obj *unstructured.Unstructured, ruleID string) []string {
	var ids []string
	prefix := ManagersOf(ruleID)
	for _, e := range fieldset.EntriesOf(obj) {
		if id, ok := strings.CutPrefix(e.Manager, prefix); ok && id != "" && e.Operation == fieldset.OperationApply {
			ids = append(ids, id)
		}
	}
	record, _ := SharedListOf(obj)
	for _, managers := range record.Items {
		for _, manager := range managers {
			if id, ok := strings.CutPrefix(manager, prefix); ok && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// OwnersOf lists the managers that have a path, each once.
func OwnersOf(obj *unstructured.Unstructured, path fieldpath.Path) []string {
	var owners []string
	for _, e := range fieldset.EntriesOf(obj) {
		set, err := e.Fields()
		if err == nil && set.Has(path) && !slices.Contains(owners, e.Manager) {
			owners = append(owners, e.Manager)
		}
	}
	return owners
}

// OtherOwners reports whether other patches have a path, and whether others than patches have.
func OtherOwners(obj *unstructured.Unstructured, path fieldpath.Path, manager string) (patches, others bool) {
	for _, owner := range OwnersOf(obj, path) {
		switch {
		case owner == manager:
		case strings.HasPrefix(owner, Prefix):
			patches = true
		default:
			others = true
		}
	}
	return patches, others
}
