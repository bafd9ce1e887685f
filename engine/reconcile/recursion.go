package reconcile

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
)

// A rule may create parents for itself, also by way of other rules. No chain of reconciles shows such a loop, because each
// reconcile is the first one of a new parent. So the line of descent is bounded: its length, and the number of parents in
// it, because two children each make 130,000 objects in 16 generations.
const (
	maxGenerations = 16
	maxDescendants = 1000
	// recount is after how long a line that was too large is counted again.
	recount = time.Minute
)

// line is the line of descent of a parent.
type line struct {
	// root is the first ancestor. generations is how many of the ancestors, and the parent, the same rule created.
	root        *unstructured.Unstructured
	generations int
	// ancestors names each object with the rule that created it.
	ancestors []string
}

// largeLines has the rule and the root of each line that had too many descendants. The zero value is ready.
type largeLines struct{ roots sync.Map }

// lineKey identifies a line.
type lineKey struct {
	rule string
	root types.UID
}

// lineOf follows the owners of a parent that is a child itself, for up to maxGenerations.
func (p *pass) lineOf() line {
	running := p.r.Running.Load()
	seen := make(map[types.UID]bool)
	l := line{root: p.parent}
	for !seen[l.root.GetUID()] && l.generations < maxGenerations {
		seen[l.root.GetUID()] = true
		owner, ok := p.r.Marks.OwnerOf(l.root)
		op := running.ByID[owner.RuleID]
		if !ok || op == nil {
			break
		}
		if owner.RuleID == p.op.ID {
			l.generations++
		}
		l.ancestors = append(l.ancestors, fmt.Sprintf("%s by rule %s", mark.RefOf(l.root), op.Name))
		parent, ok := p.r.Monitors.Head(op.ParentKey, owner.Parent.Namespace, owner.Parent.Name)
		if !ok || parent.GetUID() != owner.Parent.UID {
			break
		}
		l.root = parent
	}
	return l
}

// checkDescent returns a problem if the parent gets no children, because the rule creates parents for itself without end. A
// parent that has children keeps them up to date.
func (p *pass) checkDescent() []conditions.Problem {
	l := p.lineOf()
	if l.generations < maxGenerations {
		if l.generations == 0 || p.r.hasChildren(p.op, p.key) || p.descendants(l.root) < maxDescendants {
			return nil
		}
		p.r.large.roots.Store(lineKey{p.op.ID, l.root.GetUID()}, true)
		p.r.Queue.Add(queue.Key{Rule: p.op.ID, Parent: types.NamespacedName{Namespace: l.root.GetNamespace(), Name: l.root.GetName()}})
		p.requeueAfter(recount)
		return []conditions.Problem{problemOfDescent("no children are created for it: the rule creates parents for itself, and %s has more than %d descendants",
			mark.RefOf(l.root), maxDescendants)}
	}
	p.requeueAfter(recount)
	return []conditions.Problem{problemOfDescent("no children are created for it: the rule creates parents for itself, %d generations so far (%s, and so on)",
		maxGenerations, strings.Join(l.ancestors[:min(len(l.ancestors), 4)], ", created for "))}
}

// reportDescendants returns a problem if the parent is the root of a line that is too large.
func (p *pass) reportDescendants() []conditions.Problem {
	key := lineKey{p.op.ID, p.parent.GetUID()}
	if _, large := p.r.large.roots.Load(key); !large {
		return nil
	}
	if p.descendants(p.parent) < maxDescendants {
		p.r.large.roots.Delete(key)
		return nil
	}
	p.requeueAfter(recount)
	return []conditions.Problem{problemOfDescent("the rule creates parents for itself, and this one has more than %d descendants; no more are created", maxDescendants)}
}

func problemOfDescent(format string, args ...any) conditions.Problem {
	const advice = "; give spec.parent a selector or a when that its own children do not meet"
	return conditions.Problem{Subject: "loop", Reason: conditions.ReasonLoop, Stalled: true, Err: fmt.Errorf(format+advice, args...)}
}

// descendants counts the parents of this rule that descend from an object by way of this rule, up to maxDescendants.
func (p *pass) descendants(root *unstructured.Unstructured) (count int) {
	rules := make(map[schema.GroupKind][]*operator.Operator)
	for _, op := range p.r.Running.Load().ByID {
		kind := op.Parent.GVK.GroupKind()
		rules[kind] = append(rules[kind], op)
	}
	type member struct {
		id  identity.ID
		own bool // it descends by way of this rule
	}
	seen := map[member]bool{}
	for left := []member{{id: identity.Of(root)}}; len(left) > 0 && count < maxDescendants; left = left[1:] {
		of := left[0]
		for _, op := range rules[of.id.GroupKind] {
			for _, id := range p.r.childrenOf(op, queue.Key{Rule: op.ID, Parent: of.id.NamespacedName}) {
				child := member{id, of.own || op.ID == p.op.ID}
				if seen[child] {
					continue
				}
				seen[child] = true
				if left = append(left, child); child.own && id.GroupKind == p.op.Parent.GVK.GroupKind() {
					count++
				}
			}
		}
	}
	return min(count, maxDescendants)
}
