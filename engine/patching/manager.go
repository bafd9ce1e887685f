package patching

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/engine/apply/fieldset"
)

// PatchEntry returns the fields that a patch's manager owns in an object, in any apiVersion, and the apiVersion of
// its last entry. It returns nil if the manager has no entry.
func PatchEntry(obj *unstructured.Unstructured, manager string) (*fieldpath.Set, string) {
	var held *fieldpath.Set
	version := ""
	for _, e := range fieldset.EntriesOf(obj) {
		if e.Manager != manager || e.Operation != fieldset.OperationApply {
			continue
		}
		set, err := e.Fields()
		if err != nil {
			set = &fieldpath.Set{} // the entry exists; the patch is applied again
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

// Patched returns the ids of a rule's patches that own something in obj.
func Patched(obj *unstructured.Unstructured, ruleID string) []string {
	var ids []string
	prefix := fieldset.PatchManagersOf(ruleID)
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

// OwnersOf returns the managers that own a path.
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

// OtherOwners reports whether patches other than manager own a path, and whether managers that are not patches do.
func OtherOwners(obj *unstructured.Unstructured, path fieldpath.Path, manager string) (patches, others bool) {
	for _, owner := range OwnersOf(obj, path) {
		switch {
		case owner == manager:
		case strings.HasPrefix(owner, fieldset.PatchPrefix):
			patches = true
		default:
			others = true
		}
	}
	return patches, others
}
