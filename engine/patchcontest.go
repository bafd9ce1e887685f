package engine

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/queue"
)

// patchContests has the contests about the targets of patches, by the key of each.
type patchContests struct {
	mu sync.Mutex
	// of never has an empty one between two looks. Guarded by mu.
	of map[queue.Key]*contests
}

func newPatchContests() *patchContests { return &patchContests{of: make(map[queue.Key]*contests)} }

// about are those of a target. The worker that has the key is the only one to use it.
func (c *patchContests) about(k queue.Key) *contests {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[k] == nil {
		c.of[k] = &contests{}
	}
	return c.of[k]
}

// done ends a look at a target.
func (c *patchContests) done(k queue.Key, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if it := c.of[k]; it != nil {
		if it.sweep(now); it.empty() {
			delete(c.of, k)
		}
	}
}

// Forget drops those of a target that is gone, or to which nobody contributes.
func (c *patchContests) Forget(k queue.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, k)
}

func (c *patchContests) ForgetRule(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.of, func(k queue.Key, _ *contests) bool { return k.Rule == id })
}

func (c *patchContests) AddKeys(rule string, found queue.Keys) {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue.AddOf(c.of, rule, found)
}

// sync brings the target up to date, unless others keep taking back what is set there.
func (t *patching) sync(ctx context.Context, patch apply.Patch) error {
	now, about, content := t.options.Clock.Now(), t.contested.about(t.key), ""
	defer t.contested.done(t.key, now)
	if patch.Content != nil {
		content = patch.Content.Content()
	}
	id, lost := identity.Of(patch.Object), t.writer.LostPatch(patch)
	if about.hold(id, content, lost, now, t.options.RetryMax) == nil {
		defer t.causes.begin(id, t.deed(patch.Object))()
		result, err := t.writer.SyncPatch(ctx, patch)
		t.noteWrite(result)
		if err != nil {
			return err
		}
		if result.Action != apply.ActionNone {
			about.wrote(id, content, lost, now)
		}
	}
	fields, rest := about.open(id, content, now)
	if len(fields) == 0 {
		return nil
	}
	t.out.requeueAfter(rest + time.Millisecond)
	return &contestedError{object: apply.RefOf(patch.Object), fields: fields, nameOf: t.managerName, patched: true}
}

// deed is a write of the target.
func (t *patching) deed(target *unstructured.Unstructured) *deed {
	return newDeed(t.key, apply.RefOf(target).String(), t.history, 0)
}

// noteWrite takes in the answer of a write of the target, before which deed was begun.
func (t *patching) noteWrite(result apply.Result) {
	if result.Live == nil || result.Action == apply.ActionNone {
		return
	}
	d := t.deed(result.Live)
	t.did = t.causes.did(identity.Of(result.Live), versionAt(result.Live), d, t.causes.digestFor(d, result.Live), t.options.Clock.Now())
	t.monitors.Observe(t.plan.informerFor(t.key.Parent.Namespace), result.Live)
}
