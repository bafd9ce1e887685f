package record

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/syntax"
)

// Permits reports whether a revision may delete what it does not render. children are the kinds of its children that
// the cluster has, and dropped those that only former revisions had. The permission does not extend to a kind that
// the cluster lacked when the permission was given, nor to one that the revision had not dropped by then.
func (r *Record) Permits(revision string, children, dropped iter.Seq[schema.GroupVersionKind]) bool {
	if r.Revision != revision {
		return false
	}
	for gvk := range dropped {
		if i := indexOf(r.Children, gvk); i >= 0 && r.Children[i].Revision != revision {
			return false
		}
	}
	for gvk := range children {
		if i := indexOf(r.Children, gvk); i >= 0 && r.Children[i].Unseen {
			return false
		}
	}
	return true
}

// Permit lets a revision delete what it does not render. dropped has the kinds that only former revisions had: true
// if objects of the kind are left; if not, the record forgets the kind. absent are kinds that the cluster lacks.
// Nobody knows what the revision would delete of them, so it needs another permission once they exist.
func (r *Record) Permit(revision string, dropped map[schema.GroupVersionKind]bool, absent []schema.GroupVersionKind) {
	r.Revision = revision
	r.Children = slices.DeleteFunc(r.Children, func(kind Kind) bool {
		left, isDropped := dropped[kind.GVK()]
		return isDropped && !left
	})
	for i := range r.Children {
		kind := &r.Children[i]
		if dropped[kind.GVK()] {
			kind.Revision = revision
		}
		kind.Unseen = slices.Contains(absent, kind.GVK())
	}
}

// distrust revokes all permissions to delete.
func (r *Record) distrust() {
	r.Revision, r.OnRuleDeletion = "", syntax.OrphanChildren
	for i := range r.Children {
		r.Children[i].Revision = ""
	}
}
