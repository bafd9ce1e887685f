package engine

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/queue"
)

// contributions are what all parents set by patches: many of them can contribute to
// one target, and none may undo what another one does there. A parent's pass says what
// the parent contributes; the key of a target (rule, patch, target) has a worker put
// together what all of them do, and apply it.
//
// Nothing is taken from a target while it is not known of every parent what it
// contributes. What a parent contributed as long as that was known stays. After a
// start nothing is known; so a rule's targets are left alone until each of its parents
// was looked at, which is a wave.
type contributions struct {
	mu sync.Mutex
	// patches and waves are guarded by mu, with all below them.
	patches map[patchName]*patchState
	waves   map[string]*wave // by the rule's id
	// retired are the patches to be released that a rule has no more, by the rule's id.
	retired map[string][]recordedPatch
	// busy counts the targets of a patch that are being looked at.
	busy map[patchName]int
}

// patchName names a patch: a rule's id, and an id in it.
type patchName struct{ rule, patch string }

// wave is the time from the start of a rule's revision until all its parents were
// looked at.
type wave struct {
	op      *operator
	pending map[types.NamespacedName]bool
	// held are the keys of targets to be looked at when it is over.
	held queue.Keys
}

// patchState is what is known of one patch.
type patchState struct {
	// kind is that of the targets.
	kind    schema.GroupVersionKind
	parents map[types.NamespacedName]*contribution
	targets map[types.NamespacedName]*targetState
}

// contribution is what one parent sets by one patch.
type contribution struct {
	// uid and created are the parent's: of two that contradict, the older is heard.
	uid     types.UID
	created time.Time
	// parts has what is set in each target.
	parts map[types.NamespacedName]*apply.Part
	// doubtful are targets of which what is set is not known now, and open is true
	// where there may be any others.
	doubtful map[types.NamespacedName]bool
	open     bool
	// known is true once all was known: what is not in parts is not contributed.
	known bool
}

// targetState is what came of one target.
type targetState struct {
	parents map[types.NamespacedName]bool
	// change counts what changed in the contributions, and looked is the change that
	// the last look saw.
	change, looked int
	// problem is what the last look came to; without an error: the patch is in place.
	// left has the problems of single parents.
	problem problem
	left    map[types.NamespacedName]problem
	// waiters are parents that wait for a look.
	waiters map[types.NamespacedName]bool
}

func newContributions() *contributions {
	return &contributions{
		patches: make(map[patchName]*patchState), waves: make(map[string]*wave), retired: make(map[string][]recordedPatch),
		busy: make(map[patchName]int),
	}
}

// hasBegun tells whether the wave of an operator was opened.
func (c *contributions) hasBegun(op *operator) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waves[op.id] != nil && c.waves[op.id].op == op
}

// begin opens the wave of an operator with these parents. found are keys to be looked
// at besides when it is over.
func (c *contributions) begin(op *operator, parents []*unstructured.Unstructured, found queue.Keys) (ready []queue.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.patches {
		if name.rule == op.id && op.patches[name.patch].GVK != c.patches[name].kind {
			delete(c.patches, name)
		}
	}
	w := &wave{op: op, pending: make(map[types.NamespacedName]bool, len(parents)), held: found}
	for _, parent := range parents {
		w.pending[keyOf(op.id, parent).Parent] = true
	}
	for id, plan := range op.patches {
		state := c.stateLocked(patchName{op.id, id})
		state.kind = plan.GVK
		for target := range state.targets {
			w.held[queue.Key{Rule: op.id, Patch: id, Parent: target}] = true
		}
		for _, parent := range parents {
			name := keyOf(op.id, parent).Parent
			if known := state.parents[name]; known == nil || known.uid != parent.GetUID() {
				state.setLocked(name, &contribution{uid: parent.GetUID(), created: parent.GetCreationTimestamp().Time, open: true})
			}
		}
	}
	c.waves[op.id] = w
	return w.end()
}

// end gives the keys that were held, if the wave is over.
func (w *wave) end() []queue.Key {
	if w == nil || len(w.pending) > 0 {
		return nil
	}
	held := slices.Collect(maps.Keys(w.held))
	clear(w.held)
	return held
}

// looked notes that a parent was looked at, and gives the keys that are ready now.
func (c *contributions) looked(k queue.Key) []queue.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.waves[k.Rule]
	if w == nil || len(w.pending) == 0 {
		return nil
	}
	delete(w.pending, k.Parent)
	return w.end()
}

func (c *contributions) stateLocked(name patchName) *patchState {
	state := c.patches[name]
	if state == nil {
		state = &patchState{
			parents: make(map[types.NamespacedName]*contribution), targets: make(map[types.NamespacedName]*targetState),
		}
		c.patches[name] = state
	}
	return state
}

// set says what a parent contributes by a patch, and gives the targets for which that
// is news.
func (c *contributions) set(k queue.Key, patch string, now *contribution) []queue.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	return keysOf(k.Rule, patch, c.stateLocked(patchName{k.Rule, patch}).setLocked(k.Parent, now))
}

func keysOf(rule, patch string, targets map[types.NamespacedName]bool) []queue.Key {
	var keys []queue.Key
	for target := range targets {
		keys = append(keys, queue.Key{Rule: rule, Patch: patch, Parent: target})
	}
	return keys
}

// drop ends all that a parent contributes, and gives the targets for which that is
// news.
func (c *contributions) drop(k queue.Key) []queue.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	var keys []queue.Key
	for name, state := range c.patches {
		if name.rule == k.Rule && state.parents[k.Parent] != nil {
			keys = append(keys, keysOf(k.Rule, name.patch, state.setLocked(k.Parent, nil))...)
		}
	}
	return keys
}

// forgetRule drops what is known of a rule that stopped; its targets stay as they are.
func (c *contributions) forgetRule(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waves, id)
	maps.DeleteFunc(c.patches, func(name patchName, _ *patchState) bool { return name.rule == id })
}

// setLocked replaces what a parent contributes; nil ends it. It gives the targets to
// look at: those of which something changes, and where more is known than before, all
// that were left as they are for want of that.
func (s *patchState) setLocked(parent types.NamespacedName, now *contribution) map[types.NamespacedName]bool {
	before := s.parents[parent]
	if before != nil && now != nil && before.uid == now.uid {
		now.retain(before)
	}
	changed := make(map[types.NamespacedName]bool)
	if s.doubtfulLocked(before) && !s.doubtfulLocked(now) {
		for target := range s.targets {
			changed[target] = true
		}
	}
	for target, part := range before.all() {
		if other := now.all()[target]; other == nil || !part.Same(other) {
			changed[target] = true
		}
	}
	for target := range now.all() {
		if before.all()[target] == nil {
			changed[target] = true
		}
	}
	for target := range before.all() {
		delete(s.targetLocked(target).parents, parent)
	}
	for target := range now.all() {
		s.targetLocked(target).parents[parent] = true
	}
	if now == nil {
		delete(s.parents, parent)
	} else {
		s.parents[parent] = now
	}
	for target := range changed {
		t := s.targetLocked(target)
		t.change++
		delete(t.left, parent)
	}
	return changed
}

func (s *patchState) targetLocked(target types.NamespacedName) *targetState {
	t := s.targets[target]
	if t == nil {
		t = &targetState{
			parents: make(map[types.NamespacedName]bool), waiters: make(map[types.NamespacedName]bool),
			left: make(map[types.NamespacedName]problem),
		}
		s.targets[target] = t
	}
	return t
}

// doubtfulLocked tells whether it was never known what a parent contributes.
func (s *patchState) doubtfulLocked(c *contribution) bool {
	return c != nil && !c.known && (c.open || len(c.doubtful) > 0)
}

// all is what is set in each target; of nil nothing.
func (c *contribution) all() map[types.NamespacedName]*apply.Part {
	if c == nil {
		return nil
	}
	return c.parts
}

// retain keeps what was contributed before, where what is now is not known.
func (c *contribution) retain(before *contribution) {
	complete := !c.open && len(c.doubtful) == 0
	for target, part := range before.parts {
		if c.parts[target] == nil && (c.open || c.doubtful[target]) {
			if c.parts == nil {
				c.parts = make(map[types.NamespacedName]*apply.Part, 1)
			}
			c.parts[target] = part
		}
	}
	c.known = complete || before.known
}

// collected is what is known of a target.
type collected struct {
	// parts are those of parents, the oldest first.
	parts   []*apply.Part
	parents []types.NamespacedName
	// change is that of the target.
	change int
	// pending is true during a wave, and doubt names a parent of which it is not known
	// what it contributes.
	pending bool
	doubt   string
}

// collect begins a look at the target of a key, which finish ends: it gives what all
// parents contribute to it. It is false where the operator was replaced.
func (c *contributions) collect(op *operator, k queue.Key) (collected, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.waves[k.Rule]; w == nil || w.op != op {
		return collected{}, false
	}
	c.busy[patchName{k.Rule, k.Patch}]++
	return c.collectLocked(k), true
}

// isBusy tells whether a target of a patch is being looked at.
func (c *contributions) isBusy(name patchName) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.busy[name] > 0
}

func (c *contributions) collectLocked(k queue.Key) collected {
	state := c.stateLocked(patchName{k.Rule, k.Patch})
	var out collected
	if w := c.waves[k.Rule]; w != nil && len(w.pending) > 0 {
		w.held[k] = true
		out.pending = true
	}
	t := state.targets[k.Parent]
	if t != nil {
		out.change = t.change
		out.parents = slices.SortedFunc(maps.Keys(t.parents), func(a, b types.NamespacedName) int {
			return compareAge(state.parents[a], state.parents[b], a, b)
		})
	}
	for _, parent := range out.parents {
		out.parts = append(out.parts, state.parents[parent].parts[k.Parent])
	}
	for name, parent := range state.parents {
		if state.doubtfulLocked(parent) && (parent.open || parent.doubtful[k.Parent]) &&
			(out.doubt == "" || name.String() < out.doubt) {
			out.doubt = name.String()
		}
	}
	return out
}

// compareAge puts the older parent first.
func compareAge(a, b *contribution, nameA, nameB types.NamespacedName) int {
	switch {
	case a.created.Before(b.created):
		return -1
	case b.created.Before(a.created):
		return 1
	}
	return strings.Compare(nameA.String(), nameB.String())
}

// contributes tells whether some parent contributes to the target of a key.
func (c *contributions) contributes(k queue.Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.patches[patchName{k.Rule, k.Patch}]
	return state != nil && state.targets[k.Parent] != nil && len(state.targets[k.Parent].parents) > 0
}

// finish ends a look at a target: it notes what a look at a target came to, and gives the parents for which that
// is news.
func (c *contributions) finish(k queue.Key, saw collected, came problem, left map[types.NamespacedName]problem) []queue.Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := patchName{k.Rule, k.Patch}
	if c.busy[name]--; c.busy[name] <= 0 {
		delete(c.busy, name)
	}
	state := c.patches[name]
	if state == nil || state.targets[k.Parent] == nil || came.passing() {
		return nil // the next look knows better
	}
	t := state.targets[k.Parent]
	var wake []queue.Key
	if !t.problem.same(came) {
		for parent := range t.parents {
			t.waiters[parent] = true
		}
	}
	for parent := range t.parents {
		if !t.left[parent].same(left[parent]) {
			t.waiters[parent] = true
		}
	}
	t.problem, t.left, t.looked = came, left, saw.change
	if t.looked == t.change {
		for parent := range t.waiters {
			wake = append(wake, queue.Key{Rule: k.Rule, Parent: parent})
		}
		clear(t.waiters)
	}
	if len(t.parents) == 0 && came.err == nil {
		delete(state.targets, k.Parent)
	}
	return wake
}

// stateOf is how a parent's contribution to a target fares: what is in its way, if
// something is. Where nobody looked since it changed, known is false, and the parent
// is woken when somebody has.
func (c *contributions) stateOf(k queue.Key, patch string, target types.NamespacedName) (problem, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.stateLocked(patchName{k.Rule, patch}).targetLocked(target)
	if t.looked < t.change {
		t.waiters[k.Parent] = true
		return problem{}, false
	}
	if own := t.left[k.Parent]; own.err != nil {
		return own, true
	}
	return t.problem, true
}
