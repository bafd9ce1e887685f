package rules

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/syntax"
)

// handover is a field that is left to others as long as a condition holds.
type handover struct {
	path syntax.IgnoredPath
	// place is where it stands below the child.
	place string
	when  *expression
}

// decideIgnored notes which fields of a rendered object are left to others for now.
func (e *Evaluation) decideIgnored(child *compiledChild, s *scope, id identity) *problem {
	for i := range child.handovers {
		h := &child.handovers[i]
		holds, p := h.when.isTrue(s)
		if p != nil {
			return p.under(h.place)
		}
		if !holds {
			continue
		}
		if e.ignores == nil {
			e.ignores = make(map[identity][]syntax.IgnoredPath)
		}
		e.ignores[id] = append(e.ignores[id], h.path)
	}
	return nil
}

// Ignores has the fields of an object that Next gave which are left to others because a
// when of ignore holds: they count with Child.Ignore. They are read-only.
func (e *Evaluation) Ignores(object *unstructured.Unstructured) []syntax.IgnoredPath {
	if e.ignores == nil {
		return nil
	}
	return e.ignores[identityOf(object)]
}
