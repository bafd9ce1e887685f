package engine

import (
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/wire"
)

// tagOf says of a child to which rule and parent it belongs, as the text of their key. An object that has the label of children
// and whose mark proves nothing is not in view: labels are copied, and anybody may set them.
func (e *Engine) tagOf(key monitor.Key, obj *wire.Object) (tag string, inView bool) {
	if key.Selector != mark.LabelRule {
		return "", true // these are no children
	}
	owner, ok := e.marks.OwnerOf(obj.Head())
	if !ok {
		return "", false
	}
	return plan.Tag(owner), true
}
