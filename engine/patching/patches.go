package patching

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/feedback"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/tenant"
	"kanon.dev/kanon/engine/watch"
	"kanon.dev/kanon/restmapping"
)

// Queue takes the keys of targets and of parents.
type Queue interface {
	Add(k queue.Key)
	Forget(k queue.Key)
	AddPatient(k queue.Key)
}

// Options are what Patches needs.
type Options struct {
	// Client reads targets, and Objects lists them without their content.
	Client   dynamic.Interface
	Objects  watch.Lister
	Mapper   *restmapping.Mapper
	Monitors *watch.Monitors
	Writer   *Writer
	Running  *operator.Running
	// Reads decides what rules with a ServiceAccount may read.
	Reads    *tenant.Reads
	Queue    Queue
	Parents  *conditions.Store
	Readers  *watch.Readers
	Feedback *feedback.Tracker
	Records  *record.Store
	// Restored is called for a rule that is being removed, after targets of its patches were restored.
	Restored func(op *operator.Operator)
	Now      func() time.Time
	// RetryMax bounds the backoff while fields of a target are in conflict.
	RetryMax time.Duration
}

// Patches applies what all parents set by patches to their targets. It is safe for concurrent use.
type Patches struct {
	Options

	ledgers *ledgers
	retired retired
}

// New returns Patches without rules.
func New(options Options) *Patches {
	return &Patches{Options: options, ledgers: newLedgers(), retired: retired{of: make(map[string][]record.Patch)}}
}

// Expect makes op the current operator of its rule. Calls on behalf of an earlier one have no effect from now on.
func (p *Patches) Expect(op *operator.Operator) { p.ledgers.expect(op.Plan) }

// Begin begins the start of a rule. No target is written until each parent was reconciled. After that, the targets
// that the rule patched before, as their managedFields show, are reconciled too. remembered are the keys of the rule
// that have some state.
func (p *Patches) Begin(op *operator.Operator, remembered queue.Keys) {
	if p.ledgers.hasBegun(op.Plan) {
		return
	}
	p.retire(op)
	found := make(queue.Keys)
	for id, planned := range op.Patches {
		if !planned.IsWhole() {
			found[queue.Key{Rule: op.ID, Patch: id}] = true // the sweep of restore.go finds the others
		}
		if planned.Borrowed {
			continue
		}
		for _, object := range p.Monitors.Heads(planned.Informer) {
			target := identity.Of(object).NamespacedName
			if HasUnusedPrevious(object) {
				found[queue.Key{Rule: op.ID, Patch: id, Parent: target}] = true
			}
			for _, patched := range Patched(object, op.ID) {
				if op.Patches[patched].Informer == planned.Informer {
					found[queue.Key{Rule: op.ID, Patch: patched, Parent: target}] = true
				}
			}
		}
	}
	contributors := make(map[types.NamespacedName]contributor)
	for _, parent := range p.Monitors.Heads(op.ParentKey) {
		contributors[identity.Of(parent).NamespacedName] = contributorOf(parent)
	}
	for _, k := range p.ledgers.begin(op.Plan, contributors, found) {
		p.Queue.AddPatient(k)
	}
	for k := range remembered { // after Begin: before it, their reconcile would do nothing
		if k.Patch != "" {
			p.Queue.AddPatient(k) // its target may no longer exist
		}
	}
}

// BeginFor is Begin for a rule of which only one parent counts. Targets that it does not patch now stay as they are.
func (p *Patches) BeginFor(op *operator.Operator, parent *unstructured.Unstructured) {
	of := map[types.NamespacedName]contributor{identity.Of(parent).NamespacedName: contributorOf(parent)}
	p.addKeys(p.ledgers.begin(op.Plan, of, nil))
}

// Reconciled records that a parent was reconciled. Once all have been since the start of the rule, the targets are
// enqueued.
func (p *Patches) Reconciled(op *operator.Operator, k queue.Key) {
	p.addKeys(p.ledgers.reconciled(op.Plan, k.Parent))
}

// Drop ends the contributions of a parent that no longer exists or that the rule does not select, as a reconcile by
// this operator found.
func (p *Patches) Drop(op *operator.Operator, k queue.Key) {
	p.addKeys(p.ledgers.drop(op.Plan, k.Parent))
}

// Retry enqueues the targets in which a parent's contribution has a problem, and ends their backoff.
func (p *Patches) Retry(op *operator.Operator, k queue.Key) {
	for id := range op.Patches {
		problems, _ := p.ledgers.problemsOf(op.Plan, k.Parent, id)
		for _, problem := range problems {
			target := queue.Key{Rule: op.ID, Patch: id, Parent: problem.target}
			p.Parents.ForgetConflicts(target)
			p.Queue.Forget(target)
			p.Queue.Add(target)
		}
	}
}

// HasPendingRestores reports whether some target of a dropped parent was not reconciled since. When all have been, the parent
// is enqueued.
func (p *Patches) HasPendingRestores(k queue.Key) bool { return p.ledgers.hasPendingRestores(k) }

// AddKeys adds the parents of a rule that contribute something to found.
func (p *Patches) AddKeys(rule string, found queue.Keys) { p.ledgers.addKeys(rule, found) }

// ForgetRule drops the state of a rule that stopped. Its targets stay as they are.
func (p *Patches) ForgetRule(id string) {
	p.ledgers.forgetRule(id)
	p.Writer.ForgetRule(id)
}

func (p *Patches) addKeys(keys []queue.Key) {
	for _, k := range keys {
		p.Queue.Add(k)
	}
}
