package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/outcome"
	"kanon.dev/kanon/engine/parents"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules"
)

// removal is what is left to do for a rule that is gone, or that has another kind of
// parents now: each parent of the old kind is given back as one that the rule is not
// for. A rule without children or status stands in for the one that is gone.
type removal struct {
	program *rules.Program
	// parent is the kind of the parents that are given back.
	parent schema.GroupVersionKind
	// children says what becomes of the children.
	children rules.RuleDeletion

	mu sync.Mutex
	// begun is true once the parents are known, and pending has those that are to be
	// given back still. waits is true once it was told that some wait. Guarded by mu.
	begun   bool
	pending queue.Keys
	waits   bool
}

// keepsChildren tells whether nothing is to be deleted. Without a removal it does not
// apply.
func (r *removal) keepsChildren() bool { return r != nil && r.children != rules.DeleteChildren }

// begin notes the parents that are to be given back, the first time, and returns those that are so still: one may have gone
// while the removal was interrupted.
func (r *removal) begin(keys queue.Keys) (left queue.Keys) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun {
		r.begun, r.pending = true, maps.Clone(keys)
	}
	return maps.Clone(r.pending)
}

// firstWait is true the first time.
func (r *removal) firstWait() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	told := r.waits
	r.waits = true
	return !told
}

// done notes that a parent was given back, and tells whether it was the last one.
func (r *removal) done(k queue.Key) (finished bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, k)
	return r.begun && len(r.pending) == 0
}

// isDone tells whether every parent was reconciled.
func (r *removal) isDone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun && len(r.pending) == 0
}

// removals are those that are under way, by the rule's id. One goroutine owns them.
type removals struct {
	kinds rules.Kinds
	byID  map[string]*removal
}

func newRemovals(kinds rules.Kinds) *removals {
	return &removals{kinds: kinds, byID: make(map[string]*removal)}
}

// of is the removal of a rule from a kind of parents, the same one as before if that is
// under way; nil if the cluster lacks the kind.
func (r *removals) of(id string, name types.NamespacedName, parent schema.GroupVersionKind, stored *record.Record) *removal {
	if r := r.byID[id]; r != nil && r.parent == parent && r.children == stored.OnRuleDeletion {
		return r
	}
	docs, _ := rules.Decode("removed "+name.String(), standIn(name.Name, parent, stored))
	if len(docs.Rules) == 0 {
		return nil
	}
	program, _ := rules.Compile(docs.Rules[0], rules.Options{Kinds: r.kinds})
	if program == nil {
		return nil
	}
	r.byID[id] = &removal{program: program, parent: parent, children: stored.OnRuleDeletion}
	return r.byID[id]
}

// run is a rule that is to run, or to be removed.
type run struct {
	rule    catalog.Rule
	program *rules.Program
	removal *removal
}

// runs lists what is to run now, in the order of the rules' ids.
func (p *publisher) runs(c *catalog.Catalog, all []catalog.Rule) []run {
	var found []run
	exists := make(map[string]bool, len(all))
	for _, rule := range all {
		exists[rule.ID] = true
		next := run{rule: rule, program: rule.Program}
		if rule.Program != nil {
			next.removal = p.formerParents(rule)
		}
		if next.removal == nil {
			delete(p.removals.byID, rule.ID)
		} else {
			next.program = next.removal.program
		}
		if next.program != nil {
			found = append(found, next)
		}
	}
	remembered := p.engine.records.IDs()
	maps.DeleteFunc(p.removals.byID, func(id string, _ *removal) bool { return !slices.Contains(remembered, id) })
	for _, id := range remembered {
		if exists[id] {
			continue
		}
		if next, ok := p.removedRule(c, id); ok {
			found = append(found, next)
		}
	}
	slices.SortFunc(found, func(a, b run) int { return cmp.Compare(a.rule.ID, b.rule.ID) })
	return found
}

// formerParents is the removal of a rule from a kind of parents that it has no more; nil if
// there is none. The rule begins with the new kind after that.
func (p *publisher) formerParents(rule catalog.Rule) *removal {
	stored, ok := p.engine.records.Get(rule.ID)
	if !ok {
		return nil
	}
	now := rule.Program.Parent().GVK.GroupKind()
	for _, kind := range stored.Parents {
		if kind.GVK().GroupKind() == now {
			continue // another version has the same objects
		}
		if r := p.removals.of(rule.ID, rule.Name, kind.GVK(), &stored); r != nil {
			return r
		}
	}
	return nil
}

// removedRule is the removal of a rule that is in no text any more. There is none while it
// is in doubt whether the rule still exists: a source that was not read, or a text that
// cannot be decoded, may have it. A rule that was seen to go may be removed even so, as far
// as nothing is deleted.
func (p *publisher) removedRule(c *catalog.Catalog, id string) (run, bool) {
	e, underWay := p.engine, p.removals.byID[id] != nil
	stored, ok := e.records.Get(id)
	if !ok || len(stored.Parents) == 0 {
		return run{}, false
	}
	if !underWay && e.records.IsPending(id) {
		return run{}, false // what is being written to the record may say that the children stay; the records notify the inbox
	}
	sure := c.IsComplete() && (c.Removed(id) || e.covers(stored.Origin.Source()))
	if !sure && (!c.Removed(id) || stored.OnRuleDeletion == rules.DeleteChildren) {
		return run{}, false
	}
	if !underWay && stored.Origin.Path == "" && !e.records.IsRemovalMeant(id) {
		return run{}, false
	}
	namespace, name, _ := strings.Cut(stored.Rule, "/")
	rule := catalog.Rule{ID: id, Name: types.NamespacedName{Namespace: namespace, Name: name}}
	r := p.removals.of(id, rule.Name, stored.Parents[len(stored.Parents)-1].GVK(), &stored)
	if r == nil {
		return run{}, false
	}
	return run{rule: rule, program: r.program, removal: r}, true
}

// covers tells whether one of the sources would find a text at an origin: a rule in a file
// is not removed because this process was started without that file.
func (e *Engine) covers(origin source.Origin) bool {
	return slices.ContainsFunc(e.options.Sources, func(s Source) bool {
		covering, ok := s.(interface{ Covers(source.Origin) bool })
		return ok && covering.Covers(origin)
	})
}

// standIn is the text of a rule that makes nothing, for the same parents and with the
// same conditions as the one that is gone.
func standIn(name string, parent schema.GroupVersionKind, stored *record.Record) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nmetadata: {name: %q}\nspec:\n  parent: {apiVersion: %q, kind: %q}\n",
		rules.APIVersion, rules.RuleKind, name, parent.GroupVersion().String(), parent.Kind)
	if stored.ConditionPrefix != "" {
		fmt.Fprintf(&b, "  conditionPrefix: %q\n", stored.ConditionPrefix)
	}
	for i, conditionType := range stored.Conditions {
		if i == 0 {
			b.WriteString("  conditions:\n")
		}
		fmt.Fprintf(&b, "  - {type: %q, status: Unknown}\n", conditionType)
	}
	return b.Bytes()
}

// cleanUpRemovedRule takes back what a rule that is gone said of one parent, and finishes the
// removal with the last one. parent is nil where it is gone too. A parent that is
// suspended is left alone until it is not; its event comes here again.
func (e *Engine) cleanUpRemovedRule(ctx context.Context, op *operator, k queue.Key, parent *unstructured.Unstructured) outcome.Outcome {
	var out outcome.Outcome
	if !op.removal.keepsChildren() {
		if doubt := e.checkAbsent(ctx, op); doubt != nil { // there may be children that nobody would end any more
			if op.removal.firstWait() {
				logr.FromContextOrDiscard(ctx).Info("children of a rule that was removed wait until it is known whether the cluster has their kinds",
					"rule", op.Name.String(), "reason", doubt.Error())
			}
			return outcome.Outcome{Verdict: outcome.Again}
		}
	}
	switch {
	case parent == nil:
	case isSuspended(parent) && e.mayHaveFields(op, k, parent):
		return outcome.Outcome{Verdict: e.skipSuspended(op, k, parent)}
	case isSuspended(parent): // all the rules for its kind come here
	case parent.GetDeletionTimestamp() != nil && op.HasFinalizer(parent):
		out = e.reconcileDeletion(ctx, op, k, parent, e.options.Clock.Now())
	case parent.GetDeletionTimestamp() == nil && e.mayHaveFields(op, k, parent) && (e.waitsForOtherRule(ctx, op, parent) || !e.isTurnOf(op)):
		return outcome.Outcome{Verdict: outcome.Again} // also where the other one has only just begun to run, and has not looked yet
	case parent.GetDeletionTimestamp() == nil:
		p := e.newPass(ctx, newSubject(op, k, parent, &parents.Memory{}, e.options.Clock.Now()))
		out = p.cleanUpRemoved(ctx)
	}
	if out.Verdict != outcome.Settled || out.Err != nil {
		return out
	}
	e.forget(op, k)
	if op.removal.done(k) {
		e.finishRemoval(op)
	}
	return out
}

// mayHaveFields tells whether a parent may have something of a rule. One whose field managers
// are not known may.
func (e *Engine) mayHaveFields(op *operator, k queue.Key, parent *unstructured.Unstructured) bool {
	return op.HasFinalizer(parent) || e.cluster.hasChildren(op, k) || fieldset.IsManaged(parent, op.ID)
}

// finishRemoval forgets a rule, or its former kind of parents, once nothing of it is left.
func (e *Engine) finishRemoval(op *operator) {
	stored, ok := e.records.Get(op.ID)
	if !ok || e.retirements.pending(op.ID) {
		return // the last patch that is released comes here again
	}
	entitled := func() bool { return e.isCurrent(op) }
	left := slices.DeleteFunc(stored.Parents, func(kind record.Kind) bool { return kind.GVK() == op.removal.parent })
	if len(left) == 0 {
		e.records.DeleteIf(op.ID, entitled)
		return
	}
	e.records.UpdateIf(op.ID, entitled, func(r *record.Record) { r.Parents = left })
}

// isGone tells whether the rule that a child's owner names is known to be no more, and
// was one of this installation.
func (e *Engine) isGone(owner mark.Owner) bool {
	known := e.running.load().rules
	if known == nil || known[owner.RuleID] {
		return false
	}
	// A seal is of this installation's key. A former mark has none, and names the rule.
	namespace, name, named := strings.Cut(owner.Rule, "/")
	return !named || mark.RuleID(e.options.Namespace, namespace, name) == owner.RuleID
}

// isTurnOf tells whether a removal may begin to delete: not before the other rules for
// the same kind of parents have taken over what they render. It holds for all else.
func (e *Engine) isTurnOf(op *operator) bool {
	if op.removal == nil || op.removal.keepsChildren() {
		return true
	}
	for _, other := range e.running.load().byID {
		if other.removal == nil && other.Parent.GVK.GroupKind() == op.Parent.GVK.GroupKind() && !e.isEvaluated(other) {
			return false
		}
	}
	return true
}

// waitsForOtherRule tells whether children of a parent would be deleted that a rule which does not run may want: it may be the
// one that is gone, under a new name. The log says so once.
func (e *Engine) waitsForOtherRule(ctx context.Context, op *operator, parent *unstructured.Unstructured) bool {
	set := e.running.load()
	if op.removal.keepsChildren() || set.rules[op.ID] {
		return false // a rule that has another kind of parents now has its name still
	}
	paused := set.paused[op.Parent.GVK.GroupKind()]
	i := slices.IndexFunc(paused, func(r *rules.Rule) bool { return r.MaySelect(parent, e.cluster.namespaceLabels) })
	if i < 0 {
		return false
	}
	if op.removal.firstWait() {
		logr.FromContextOrDiscard(ctx).Info("children of a rule that was removed wait for another rule, which does not run and may want them, to run or be removed",
			"rule", op.Name.String(), "other", paused[i].Name, "parent", cache.MetaObjectToName(parent).String())
	}
	return true
}

// enqueueRemovals enqueues the parents of removals that may have waited for a rule: until it has reconciled all its parents, or
// does not run any more.
func (e *Engine) enqueueRemovals(op *operator) {
	for _, other := range e.running.load().byID {
		if other.removal != nil && other.Parent.GVK.GroupKind() == op.Parent.GVK.GroupKind() {
			e.enqueueAll(other)
		}
	}
}
