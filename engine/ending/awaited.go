package ending

import "slices"

// Awaited lists the children for which a parent that is being deleted waits: all of them if it waits until they are
// gone, else those that are not being deleted yet. A deletion cannot be undone, so a background deletion waits no
// longer, as in Kubernetes. It must not: an object that the garbage collector deletes only after the parent may block a
// child that it uses.
func Awaited(children []Child, untilEnd bool) []Child {
	if untilEnd {
		return children
	}
	return slices.DeleteFunc(slices.Clone(children), Child.IsDeleting)
}
