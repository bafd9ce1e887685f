package catalog

import (
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/rules/diagnostic"
)

// Summary describes a rule's revisions in figures.
type Summary struct {
	ID   string
	Name types.NamespacedName
	// Revision is the hash of the last good revision; empty if there is none.
	Revision string
	// Errors and Warnings count the findings of the newest revision.
	Errors, Warnings int
}

func (r *revisions) summary() Summary {
	summary := Summary{ID: r.id, Name: r.name}
	if r.program != nil {
		summary.Revision = r.program.Hash
	}
	for _, f := range r.findings {
		if f.Severity == diagnostic.SeverityError {
			summary.Errors++
		} else {
			summary.Warnings++
		}
	}
	return summary
}
