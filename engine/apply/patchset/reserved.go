package patchset

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// SetsLabel reports whether a part sets a label; nil sets none.
func (p *Part) SetsLabel(label string) bool {
	return p != nil && p.Paths.Has(fieldpath.MakePathOrDie("metadata", "labels", label))
}
