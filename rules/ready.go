package rules

import (
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// notReady says why a child is not ready, nil when it is. A child that is
// skipped is, and so is one that is not to be made; one that is not up to date is
// not.
func (e *Evaluation) notReady(i int) *problem {
	n := &e.nodes[i]
	switch n.state {
	case nodeSkipped, nodeUncreated:
		return nil
	case nodeApplied:
	default:
		if n.problem != nil {
			return n.problem
		}
		return waiting("it is not up to date")
	}
	if n.readyKnown {
		return n.notReady
	}
	n.readyKnown = true
	if n.rollingOut != nil {
		n.notReady = n.rollingOut
		return n.notReady
	}
	child := e.prog.children[i]
	for j := range n.items {
		p := e.itemNotReady(child, &n.items[j])
		if p == nil {
			continue
		}
		if child.ForEach {
			p = &problem{verdict: p.verdict, missing: p.missing, path: p.path, message: fmt.Sprintf("%s: %s", n.items[j].live.GetName(), p.message), advice: p.advice}
		}
		n.notReady = p
		break
	}
	return n.notReady
}

// itemNotReady says why one object is not ready. What readyWhen cannot say yet
// counts as no.
func (e *Evaluation) itemNotReady(child *compiledChild, it *item) *problem {
	if child.readyWhen == nil {
		return e.notCurrent(child, it)
	}
	s := it.scope
	s.self = it.live.Object
	ok, p := child.readyWhen.isTrue(&s)
	switch {
	case p != nil:
		return p.under("readyWhen")
	case !ok:
		return waiting("%s is false", shorten(child.readyWhen.text)).under("readyWhen")
	}
	return nil
}

// alwaysCurrent says whether kstatus takes every object of a kind for ready that is
// there, whatever its content.
func alwaysCurrent(gvk schema.GroupVersionKind) bool {
	return gvk.Group == "" && (gvk.Kind == "ConfigMap" || gvk.Kind == "Secret")
}

// notCurrent asks kstatus. It takes a custom object that says nothing for
// current, also when its controller has not looked at it yet; so a kind that
// has a status is not ready before its status is there.
func (e *Evaluation) notCurrent(child *compiledChild, it *item) *problem {
	if _, has := it.live.Object["status"]; !has && child.kind.HasStatus && !child.builtIn {
		return waiting("it has no status yet")
	}
	result, err := status.Compute(it.live)
	switch {
	case err != nil:
		return failure("its status cannot be understood: %s", err.Error())
	case result.Status == status.CurrentStatus:
		return nil
	case result.Message == "":
		return waiting("%s", result.Status)
	}
	return waiting("%s: %s", result.Status, result.Message)
}
