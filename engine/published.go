package engine

import (
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/monitor"
	"kanon.dev/kanon/rules"
)

// operators is the set of rules that run: an immutable snapshot.
type operators struct {
	byID map[string]*operator
	// rules has the ids of all rules that there are, running or not, nil where that is
	// not known for sure.
	rules map[string]bool
	// paused has the rules that there are and that do not run, by the kind of their parents.
	paused map[schema.GroupKind][]*rules.Rule
	// byKey has, for each informer, the operators that need it.
	byKey map[monitor.Key][]*operator
	// reads has the resources of which objects are parents, are looked up, or are patched.
	reads map[schema.GroupVersionResource]bool
}

func newOperators(ops []*operator) *operators {
	set := &operators{
		byID: make(map[string]*operator, len(ops)), byKey: make(map[monitor.Key][]*operator),
		reads: make(map[schema.GroupVersionResource]bool),
	}
	for _, op := range ops {
		set.byID[op.ID] = op
		set.reads[op.Parent.GVR] = true
		for _, l := range op.Lookups {
			set.reads[l.Kind.GVR] = true
		}
		for _, plan := range op.Patches {
			set.reads[plan.Kind.GVR] = true
		}
		for _, key := range op.Informers() {
			set.byKey[key] = append(set.byKey[key], op)
		}
	}
	return set
}

// published holds the operators that run now; the catalog's goroutine stores,
// everyone loads.
type published struct{ pointer atomic.Pointer[operators] }

func (p *published) load() *operators {
	if set := p.pointer.Load(); set != nil {
		return set
	}
	return newOperators(nil)
}

// isCurrent tells whether an operator is the one of its rule that runs. Who began something
// for one that was replaced meanwhile may be late: what is kept by the rule's id is
// another's then.
func (e *Engine) isCurrent(op *operator) bool { return e.running.load().byID[op.ID] == op }

// isCurrentRevision tells whether the rule runs in the revision that an operator has.
func (e *Engine) isCurrentRevision(op *operator) bool {
	now := e.running.load().byID[op.ID]
	return now != nil && now.removal == nil && now.Program.Hash() == op.Program.Hash()
}

// isRead tells whether parents of any rule depend on objects of a resource.
func (p *published) isRead(gvr schema.GroupVersionResource) bool { return p.load().reads[gvr] }

func (p *published) store(set *operators) { p.pointer.Store(set) }

// nameOf is what people call a rule; its id when it does not run any more.
func (p *published) nameOf(id string) string {
	if op := p.load().byID[id]; op != nil {
		return op.Name.String()
	}
	return id
}

// managerName is what people call a field manager: that of a rule by the rule.
func (p *published) managerName(manager string) string {
	for id, op := range p.load().byID {
		if strings.Contains(manager, id) {
			return "rule " + op.Name.String()
		}
	}
	return manager
}
