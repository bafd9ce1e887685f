package record

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/syntax"
)

// Permits reports whether a revision may delete what it does not render. children are the kinds of its children that the
// cluster has, and dropped those that former revisions had. The permission is not for a kind that the cluster did not have
// when it was given, nor for one that the revision did not drop then.
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

// Permit lets a revision delete what it does not render. dropped has the kinds that former revisions had and that this one does
// not have: true where objects of the kind are left. Without such objects the record forgets the kind. absent are kinds that
// the cluster does not have: nobody knows what the revision would delete of them, so it needs another permission once they
// exist.
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

// distrust takes back all permissions to delete.
func (r *Record) distrust() {
	r.Revision, r.OnRuleDeletion = "", syntax.OrphanChildren
	for i := range r.Children {
		r.Children[i].Revision = ""
	}
}
