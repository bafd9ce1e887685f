package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/patchset"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/engine/plan"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/restmapping"
)

// A sweep looks for objects that hold something of a patch which no informer shows: of
// a patch that the rule does not have any more, or of one of which the informer shows
// a part of the kind's objects only. Who manages a field is written in the object, so
// nobody needs to remember the objects, but only the kinds; the rule's record does.

// sweepPage is how many objects one request of a sweep asks for.
const releasePage = 500

// retirements are the patches to be released that rules have no more.
type retirements struct {
	mu sync.Mutex
	// of is by the rule's id. Guarded by mu.
	of map[string][]record.Patch
}

func newRetirements() *retirements { return &retirements{of: make(map[string][]record.Patch)} }

// set replaces those of a rule.
func (r *retirements) set(rule string, patches []record.Patch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(patches) == 0 {
		delete(r.of, rule)
		return
	}
	r.of[rule] = patches
}

// kinds are those of a retired patch's targets: an id may have had several.
func (r *retirements) kinds(k queue.Key) []record.Patch {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.of[k.Rule]), func(p record.Patch) bool { return p.ID != k.Patch })
}

// released notes that a retired patch holds nothing any more.
func (r *retirements) released(rule string, patch record.Patch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of[rule] = slices.DeleteFunc(slices.Clone(r.of[rule]), func(p record.Patch) bool { return p == patch })
	if len(r.of[rule]) == 0 {
		delete(r.of, rule)
	}
}

// pending tells whether something that a rule patched is still to be released.
func (r *retirements) pending(rule string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.of[rule]) > 0
}

// retirePatches has what a rule patched before, and patches no more, released. op is nil
// for a rule that is gone.
func (e *Engine) retirePatches(id string, op *operator.Operator) {
	stored, _ := e.records.Get(id)
	retired := slices.DeleteFunc(stored.Patches, func(p record.Patch) bool { return op != nil && op.HasPatch(p) })
	e.retirements.set(id, retired)
	for _, p := range retired {
		e.queue.Add(queue.Key{Rule: id, Patch: p.ID})
	}
}

// releasePatch looks for the objects of one patch: those of a retired one are released, and
// those of another are reconciled.
func (e *Engine) releasePatch(ctx context.Context, k queue.Key) outcome.Outcome {
	retired := e.retirements.kinds(k)
	if len(retired) > 0 && e.contributions.IsBusy(k) {
		return outcome.Outcome{Verdict: outcome.Again} // a write that has begun is released too
	}
	var errs []error
	for _, p := range retired {
		errs = append(errs, e.releaseRetired(ctx, k, p))
	}
	if op := e.running.Get(k.Rule); op != nil {
		if op.Removal != nil && op.Removal.IsDone() {
			e.finishRemoval(op)
		}
		if plan, ok := op.Patches[k.Patch]; ok && !plan.IsWhole() {
			errs = append(errs, e.findHiddenTargets(ctx, plan, k))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return outcome.Outcome{Verdict: outcome.Again, Err: fmt.Errorf("restore what patch %s set: %w", k.Patch, err)}
	}
	return outcome.Outcome{}
}

// releaseRetired releases what a patch that the rule does not have any more holds.
func (e *Engine) releaseRetired(ctx context.Context, k queue.Key, p record.Patch) error {
	// The rule may have the patch again by now, in a revision that began meanwhile.
	gone := func() bool {
		op := e.running.Get(k.Rule)
		return op == nil || !op.HasPatch(p)
	}
	err := e.eachPatched(ctx, p.GVK(), k, func(gvr schema.GroupVersionResource, object *unstructured.Unstructured) error {
		if object.GetDeletionTimestamp() != nil || !gone() {
			return nil
		}
		manager := patchset.Manager(k.Rule, k.Patch)
		_, err := e.writer.SyncPatch(ctx, apply.Patch{GVR: gvr, Object: object, Manager: manager})
		if err == nil {
			e.writer.ForgetPatch(object.GetUID(), manager)
		}
		return err
	})
	if err != nil {
		return err
	}
	e.records.UpdateIf(k.Rule, func() bool { return e.running.Get(k.Rule) != nil && gone() }, func(r *record.Record) {
		r.Patches = slices.DeleteFunc(r.Patches, func(other record.Patch) bool { return other == p })
	})
	e.retirements.released(k.Rule, p) // after that, the record may be removed
	return nil
}

// findHiddenTargets enqueues the targets of a patch that its informer does not show: an object that no longer matches the
// selector is released. The start of the rule enqueues those that it shows.
func (e *Engine) findHiddenTargets(ctx context.Context, plan plan.Patch, k queue.Key) error {
	err := e.eachPatched(ctx, plan.GVK, k, func(_ schema.GroupVersionResource, object *unstructured.Unstructured) error {
		// A borrowed informer shows what its users read, and the start does not go through it.
		if _, shown := e.monitors.Head(plan.Informer, object.GetNamespace(), object.GetName()); plan.Borrowed || !shown {
			e.queue.Add(queue.Key{Rule: k.Rule, Patch: k.Patch, Parent: keyOf("", object).Parent})
		}
		return nil
	})
	if apierrors.IsForbidden(err) { // as where Secrets may be read in some namespaces only
		logr.FromContextOrDiscard(ctx).V(1).Info("targets that a patch left are not looked for", "reason", err.Error())
		return nil
	}
	return err
}

// eachPatched calls f for every object of a kind that holds something of a patch, or that
// remembers what no patch has taken. A kind that the cluster does not have has none; it
// fails while that is not known.
func (e *Engine) eachPatched(ctx context.Context, gvk schema.GroupVersionKind, k queue.Key, f func(schema.GroupVersionResource, *unstructured.Unstructured) error) error {
	kind, err := e.options.Mapper.Kind(ctx, gvk)
	if _, unknown := errors.AsType[*restmapping.UnknownKindError](err); unknown {
		return nil // with a kind, all its objects went
	}
	if err != nil {
		return err
	}
	var errs []error
	options := metav1.ListOptions{Limit: releasePage}
	for {
		list, err := e.options.Client.Resource(kind.GVR).List(ctx, options)
		if err != nil {
			return fmt.Errorf("list %s: %w", kind.GVR.GroupResource(), err)
		}
		for i := range list.Items {
			if object := &list.Items[i]; slices.Contains(patchset.Patched(object, k.Rule), k.Patch) || patchset.HasUnusedPrevious(object) {
				errs = append(errs, f(kind.GVR, &list.Items[i]))
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return errors.Join(errs...)
		}
	}
}
