package conditions

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Notice is what the last Event about a stalled parent reported. The zero value stands for no Event.
type Notice struct {
	// uid is the parent's, which may have been recreated since.
	uid     types.UID
	summary Summary
}

// IsDue records the summary of a parent, and reports whether an Event is due: because the parent is stalled now, or for
// another reason than before. No Event is due if the parent's condition, of a type with the rule's prefix, has said so
// since before a restart. A timeout causes one Event, even if its message changes.
func (n *Notice) IsDue(parent *unstructured.Unstructured, prefix string, s Summary) bool {
	before := *n
	*n = Notice{}
	if s.Type != Stalled {
		return false
	}
	*n = Notice{uid: parent.GetUID(), summary: s}
	condition := Find(parent, prefix+s.Type)
	switch {
	case before == *n:
		return false
	case s.Reason == ReasonFinalizeTimeout && before == Notice{}:
		return condition == nil || condition["reason"] != s.Reason
	case s.Reason == ReasonFinalizeTimeout:
		return before.uid != n.uid || before.summary.Reason != s.Reason
	}
	return before != Notice{} || condition == nil || condition["message"] != s.Message
}
