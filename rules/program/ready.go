package program

import (
	"slices"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/readiness"
)

// notReady is why a child is not ready; nil if it is. A child that is skipped or not to be created counts as ready; one
// that is not up to date does not.
func (e *Evaluation) notReady(i int) *Problem {
	n := &e.nodes[i]
	switch n.state {
	case nodeSkipped, nodeUncreated:
		return nil
	case nodeApplied:
	default:
		if n.problem != nil {
			return n.problem
		}
		return Waiting("it is not up to date")
	}
	if n.readyKnown {
		return n.notReady
	}
	n.readyKnown = true
	if n.rollingOut != nil {
		n.notReady = n.rollingOut
		return n.notReady
	}
	child := e.prog.Children[i]
	for j := range n.items {
		p := e.itemNotReady(child, &n.items[j])
		if p == nil {
			continue
		}
		if child.IsList {
			p = p.Of(n.items[j].live.GetName())
		}
		n.notReady = p
		break
	}
	return n.notReady
}

// WhyNotReady says why one object of a node is not ready. The object comes from Next, in Objects or Kept. The result is
// empty for an object that is ready, and for one that does not exist. Call it after Result.
func (e *Evaluation) WhyNotReady(node string, object *unstructured.Unstructured) Problem {
	i, ok := e.prog.ByID[node]
	if !ok {
		return Problem{}
	}
	items := e.nodes[i].items
	j := slices.IndexFunc(items, func(it item) bool { return it.object == object })
	if j < 0 || items[j].live == nil {
		return Problem{}
	}
	p := e.itemNotReady(e.prog.Children[i], &items[j])
	if p == nil {
		return Problem{}
	}
	return *p
}

// itemNotReady is why one object is not ready. If readyWhen waits, the object is not ready.
func (e *Evaluation) itemNotReady(child *Child, it *item) *Problem {
	if child.ReadyWhen == nil {
		return e.notCurrent(it)
	}
	ok, p := child.ReadyWhen.Holds(it.scope.of(it.live), "readyWhen")
	if p == nil && !ok {
		return Waiting("%s is false", Shorten(child.ReadyWhen.Text)).Under("readyWhen")
	}
	return p
}

func (e *Evaluation) notCurrent(it *item) *Problem {
	result, err := readiness.Of(it.live, e.prog.StatusKinds[it.live.GroupVersionKind()])
	switch {
	case err != nil:
		return Failure("its status cannot be understood: %s", err.Error())
	case result.Status == status.CurrentStatus:
		return nil
	}
	return Waiting("%s", result)
}

// hasFailed reports whether the node has an object that will not become ready as it is.
func (e *Evaluation) hasFailed(i int) bool {
	return e.prog.Children[i].ReadyWhen == nil && slices.ContainsFunc(e.nodes[i].items, func(it item) bool {
		return it.live != nil && readiness.HasFailed(it.live)
	})
}
