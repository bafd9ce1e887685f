package patching

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

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/tenant"
	"kanon.dev/kanon/restmapping"
)

// restorePage is the page size for listing the objects that may have fields of a patch. Anybody may make many objects
// of which the metadata alone takes a megabyte.
const restorePage = 100

// retired are the patches that rules no longer have and whose targets are not restored yet.
type retired struct {
	mu sync.Mutex
	// of has the patches by the rule's id. Guarded by mu.
	of map[string][]record.Patch
}

// patches returns the retired patches of a key. There are several if the patch has had several kinds of targets.
func (r *retired) patches(k queue.Key) []record.Patch {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.of[k.Rule]), func(p record.Patch) bool { return p.ID != k.Patch })
}

// restored records that no object has fields of a retired patch any more.
func (r *retired) restored(rule string, patch record.Patch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.setLocked(rule, slices.DeleteFunc(slices.Clone(r.of[rule]), func(p record.Patch) bool { return p == patch }))
}

func (r *retired) setLocked(rule string, patches []record.Patch) {
	if r.of[rule] = patches; len(patches) == 0 {
		delete(r.of, rule)
	}
}

// retire has the targets of patches restored that the rule once had and no longer has.
func (p *Patches) retire(op *operator.Operator) {
	stored, _ := p.Records.Get(op.ID)
	patches := slices.DeleteFunc(stored.Patches, op.HasPatch)
	p.retired.mu.Lock()
	p.retired.setLocked(op.ID, patches)
	p.retired.mu.Unlock()
	for _, patch := range patches {
		p.Queue.Add(queue.Key{Rule: op.ID, Patch: patch.ID})
	}
}

// IsRestoring reports whether something that a rule patched is still to be restored.
func (p *Patches) IsRestoring(rule string) bool {
	p.retired.mu.Lock()
	defer p.retired.mu.Unlock()
	return len(p.retired.of[rule]) > 0
}

// restore searches for objects that have fields of a patch but are in no informer. Targets of a retired patch are
// restored. Of a current patch whose informer shows only some objects, targets are enqueued. The managers of a field
// are recorded in the object, so the rule's record has only the kinds.
func (p *Patches) restore(ctx context.Context, k queue.Key) queue.Outcome {
	retired := p.retired.patches(k)
	if len(retired) > 0 && p.ledgers.isBusy(k) {
		return queue.Outcome{Verdict: queue.Again} // wait for writes that have begun, to restore those too
	}
	var errs []error
	for _, patch := range retired {
		errs = append(errs, p.restoreRetired(ctx, k, patch))
	}
	if op := p.Running.Get(k.Rule); op != nil {
		if op.Removal != nil && op.Removal.IsDone() {
			p.Restored(op)
		}
		if planned, ok := op.Patches[k.Patch]; ok && !planned.IsWhole() {
			errs = append(errs, p.findHiddenTargets(ctx, planned, k))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return queue.Outcome{Verdict: queue.Again, Err: fmt.Errorf("restore what patch %s set: %w", k.Patch, err)}
	}
	return queue.Outcome{}
}

// restoreRetired restores the targets of a patch that the rule no longer has.
func (p *Patches) restoreRetired(ctx context.Context, k queue.Key, patch record.Patch) error {
	// A revision that started meanwhile may have the patch again.
	isRetired := func() bool {
		op := p.Running.Get(k.Rule)
		return op == nil || !op.HasPatch(patch)
	}
	err := p.eachPatched(ctx, patch.GVK(), k, func(gvr schema.GroupVersionResource, head *unstructured.Unstructured) error {
		if head.GetDeletionTimestamp() != nil {
			return nil
		}
		object, err := p.Client.Resource(gvr).Namespace(head.GetNamespace()).Get(ctx, head.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", mark.RefOf(head), err)
		}
		if !isRetired() {
			return nil
		}
		manager := fieldset.PatchManager(k.Rule, k.Patch)
		_, _, err = p.Writer.Sync(ctx, Patch{GVR: gvr, Object: object, Manager: manager})
		if err == nil {
			p.Writer.Forget(object.GetUID(), manager)
		}
		return err
	})
	if err != nil {
		return err
	}
	p.Records.UpdateIf(k.Rule, func() bool { return p.Running.Get(k.Rule) != nil && isRetired() }, func(r *record.Record) {
		r.Patches = slices.DeleteFunc(r.Patches, func(other record.Patch) bool { return other == patch })
	})
	p.retired.restored(k.Rule, patch) // from now on, the record may be deleted
	return nil
}

// findHiddenTargets enqueues the targets of a patch that its informer does not show, such as an object that no longer
// matches the selector and has to be restored. The start of the rule enqueues those that it shows.
func (p *Patches) findHiddenTargets(ctx context.Context, planned operator.Patch, k queue.Key) error {
	err := p.eachPatched(ctx, planned.GVK, k, func(_ schema.GroupVersionResource, object *unstructured.Unstructured) error {
		// A borrowed informer shows other objects too, so the start does not go through it.
		if _, shown := p.Monitors.Head(planned.Informer, object.GetNamespace(), object.GetName()); planned.Borrowed || !shown {
			p.Queue.Add(queue.Key{Rule: k.Rule, Patch: k.Patch, Parent: identity.Of(object).NamespacedName})
		}
		return nil
	})
	if apierrors.IsForbidden(err) { // for example, Secrets may be readable in some namespaces only
		logr.FromContextOrDiscard(ctx).V(1).Info("targets that a patch left are not looked for", "reason", err.Error())
		return nil
	}
	return err
}

// eachPatched calls f with the metadata of every object of a kind that has fields of a patch, or that has previous values
// recorded for fields that no patch has set. A kind that the cluster lacks has no objects. If it is unknown whether the
// cluster has the kind, it returns an error.
func (p *Patches) eachPatched(
	ctx context.Context, gvk schema.GroupVersionKind, k queue.Key, f func(schema.GroupVersionResource, *unstructured.Unstructured) error,
) error {
	kind, err := p.Mapper.Kind(ctx, gvk)
	if _, unknown := errors.AsType[*restmapping.UnknownKindError](err); unknown {
		return nil // its objects went with the kind
	}
	if err != nil {
		return err
	}
	var errs []error
	objects, options := p.Objects.Objects(kind.GVR, tenant.FromContext(ctx).Home()), metav1.ListOptions{Limit: restorePage}
	for {
		page, next, err := objects.MetadataPage(ctx, kind.GVK, options)
		if err != nil {
			return fmt.Errorf("list %s: %w", kind.GVR.GroupResource(), err)
		}
		for _, object := range page {
			if slices.Contains(Patched(object, k.Rule), k.Patch) || HasUnusedPrevious(object) {
				errs = append(errs, f(kind.GVR, object))
			}
		}
		if options.Continue = next; next == "" {
			return errors.Join(errs...)
		}
	}
}
