package ending

import "slices"

// Awaited lists the children for which a parent that is being deleted waits: all, if it waits for their end, else those that
// are not being deleted yet. Nothing takes back a deletion, so a background deletion waits no longer, as in Kubernetes. It must
// not: what blocks a child can be in use by an object that the garbage collector deletes only after the parent.
func Awaited(children []Child, untilEnd bool) []Child {
	if untilEnd {
		return children
	}
	return slices.DeleteFunc(slices.Clone(children), Child.IsDeleting)
}
