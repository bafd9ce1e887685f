package rules

import (
	"fmt"
	"slices"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/readiness"
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
		return e.notCurrent(it)
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

// notCurrent asks readiness of a child without readyWhen.
func (e *Evaluation) notCurrent(it *item) *problem {
	result, err := readiness.Of(it.live, e.prog.statusKinds[it.live.GroupVersionKind()])
	switch {
	case err != nil:
		return failure("its status cannot be understood: %s", err.Error())
	case result.Status == status.CurrentStatus:
		return nil
	}
	return waiting("%s", result)
}

// hasFailed says whether a node waits for an object that will not become ready as it is.
func (e *Evaluation) hasFailed(i int) bool {
	return e.prog.children[i].readyWhen == nil && slices.ContainsFunc(e.nodes[i].items, func(it item) bool {
		return it.live != nil && hasFailed(it.live)
	})
}

// hasFailed says whether the status of an object says that it will not become ready.
func hasFailed(obj *unstructured.Unstructured) bool {
	result, err := readiness.Of(obj, false)
	return err == nil && result.Status == status.FailedStatus
}
