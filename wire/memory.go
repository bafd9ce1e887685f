package wire

import (
	"math"
	"unsafe"
)

// Memory is about how many bytes the object takes, without what it shares with others of its kind.
func (o *Object) Memory() int {
	if o == nil {
		return 0
	}
	size := int(unsafe.Sizeof(*o)) + len(o.namespace) + len(o.name) + len(o.uid) + len(o.version) + len(o.content.data) +
		len(o.paths)*int(unsafe.Sizeof(paths{}))
	if o.tree != nil {
		size += math.MaxInt - left(o.tree.Object, math.MaxInt)
	}
	return size
}
