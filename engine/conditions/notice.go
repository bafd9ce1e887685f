package conditions

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Notice is the trouble that a parent's last Event was about. The zero value is of no Event.
type Notice struct {
	// uid is the parent's, which may have been deleted and created again since.
	uid     types.UID
	summary Summary
}

// IsDue takes in the summary of a parent, and tells whether an Event is due: because the parent stalls, or does so for another
// reason. A parent whose condition, of a type with the rule's prefix, has said so since before a restart needs none. A timeout
// is one Event, whatever its message says then.
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
