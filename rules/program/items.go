package program

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// itemBytes is about the memory of a forEach item besides its object, variableBytes that of a variable besides its
// value, and tupleBytes that of the value of a forEach name.
const itemBytes, variableBytes, tupleBytes = 320, 80, 40

// renderItems renders a forEach. An item that waits or fails does not stop the others, but makes the node partial,
// because the item's object may be unknown.
func (e *Evaluation) renderItems(i int) {
	child := e.prog.Children[i]
	n := &e.nodes[i]
	tuples, p := e.itemsOf(i)
	if p != nil {
		e.stop(i, cmp.Or(n.awaits, p))
		return
	}
	n.problem, n.partial = n.awaits, n.awaits != nil
	n.items = make([]item, 0, len(tuples))
	first := make(map[identity]int, len(tuples))
	for at, t := range tuples {
		p := e.session.Overdue()
		if p == nil {
			p = e.session.Hold(itemBytes + variableBytes*int64(len(child.Variables)))
		}
		if p != nil {
			e.stop(i, p)
			return
		}
		it := item{scope: *e.scopeOf(&child.Body, t, at)}
		switch p := e.renderPaired(i, &it); {
		case p != nil && it.awaits:
			n.note(it.scope.index, p)
		case p != nil:
			n.leaveOut(it.scope.index, p)
			continue
		case it.object == nil:
			continue
		}
		id := identityOf(it.object)
		if at, twice := first[id]; twice {
			if at >= 0 {
				n.items[at].object = nil
			}
			first[id] = -1
			n.leaveOut(it.scope.index, Failure("two items are %s; nothing is deleted until each has a name of its own", id).
				Advising("build the name from what is different for each item").Under("template.metadata.name"))
			continue
		}
		if p := e.claim(i, id); p != nil {
			n.leaveOut(it.scope.index, p)
			continue
		}
		first[id] = len(n.items)
		n.items = append(n.items, it)
	}
	n.dropMissing()
	e.rendersAll(i)
	e.rollOut(i)
	e.notePairs(i)
}

func (n *nodeState) leaveOut(index int32, p *Problem) {
	n.missing++
	n.note(index, p)
}

// note records why an item is not up to date. A failure takes precedence over waiting, because someone has to act on
// it.
func (n *nodeState) note(index int32, p *Problem) {
	n.partial = true
	if n.leftOut == 0 || index < n.leftOut {
		n.leftOut = index + 1
	}
	if p.Outweighs(n.problem) {
		n.problem = p
	}
}

// dropMissing removes the items that have no object, and moves those that createWhen prevents to uncreated.
func (n *nodeState) dropMissing() {
	kept := n.items[:0]
	for _, it := range n.items {
		switch {
		case it.object == nil:
		case it.fate == fateUncreated:
			n.uncreated = append(n.uncreated, it.object)
		default:
			kept = append(kept, it)
		}
	}
	n.items = kept
}

// tuples are the values of the forEach names for each item: the product of all dimensions, the last one varying
// fastest.
func (e *Evaluation) tuples(b *Body) ([][]ref.Val, *Problem) {
	tuples := [][]ref.Val{nil}
	for d := range b.ForEach {
		dim := &b.ForEach[d]
		var next [][]ref.Val
		count := 0
		for _, t := range tuples {
			values, p := ItemsOf(dim.In, &scope{ev: e, body: b, items: t, readOnly: true})
			if p != nil {
				return nil, p.Under(dim.Path)
			}
			if p := e.session.List(len(values)); p != nil {
				return nil, p.Under(dim.Path)
			}
			if count += len(values); count > e.prog.Limits.Children {
				continue // to know how many there are
			}
			if p := e.session.Hold(int64(len(values)) * tupleBytes * int64(len(t)+1)); p != nil {
				return nil, p.Under(dim.Path)
			}
			for _, v := range values {
				next = append(next, append(slices.Clip(t), v))
			}
		}
		if most := e.prog.Limits.Children; count > most {
			return nil, Failure("makes %s items, more than the %s allowed by --max-children", diagnostic.Number(count), diagnostic.Number(most)).Under(dim.Path)
		}
		tuples = next
	}
	return tuples, nil
}

// familyItems are the items of a child that shares them with others, by sameAs.
type familyItems struct {
	known bool // true once tuples and problem are computed
	// tuples are the values of the forEach names for each item. They are computed once, for the child with the forEach.
	tuples  [][]ref.Val
	problem *Problem
	// pairs has the state of each item; nil before the child is rendered.
	pairs []pair
}

type pair struct {
	// item is one more than its index in nodeState.items; 0: the item is not among them.
	item    int
	skipped bool
	// uncreated is true if createWhen prevents its creation.
	uncreated bool
	problem   *Problem
}

func (e *Evaluation) itemsOf(i int) ([][]ref.Val, *Problem) {
	child := e.prog.Children[i]
	if !child.SameItems {
		return e.tuples(&child.Body)
	}
	own := e.ownReads()
	if own.items == nil {
		own.items = make([]familyItems, len(e.nodes))
	}
	root := &own.items[child.Root]
	if !root.known {
		root.known = true
		root.tuples, root.problem = e.tuples(&child.Body)
	}
	return root.tuples, root.problem
}

// renderPaired renders one item of a forEach, and records the result for the children with the same items.
func (e *Evaluation) renderPaired(i int, it *item) *Problem {
	child := e.prog.Children[i]
	if !child.SameItems {
		return e.renderUnless(e.nodes[i].awaits, child, it)
	}
	own := &e.reads.items[i]
	if own.pairs == nil {
		own.pairs = make([]pair, len(e.reads.items[child.Root].tuples))
	}
	awaits := e.nodes[i].awaits
	if awaits == nil {
		awaits = e.pairsNotReady(child, it.scope.index)
	}
	p := e.renderUnless(awaits, child, it)
	own.pairs[it.scope.index] = pair{
		skipped: p == nil && it.object == nil, uncreated: p == nil && it.fate == fateUncreated, problem: p,
	}
	return p
}

// renderUnless renders an item. If it awaits a dependency, only an object that exists is rendered, and the result is
// that it waits.
func (e *Evaluation) renderUnless(awaits *Problem, child *Child, it *item) *Problem {
	if awaits == nil {
		return e.renderItem(child, it)
	}
	e.renderExisting(child, it)
	return awaits
}

func (e *Evaluation) notePairs(i int) {
	if !e.prog.Children[i].SameItems {
		return
	}
	for j := range e.nodes[i].items {
		if e.nodes[i].items[j].awaits {
			continue // those that read it wait for it to be up to date
		}
		e.reads.items[i].pairs[e.nodes[i].items[j].scope.index].item = j + 1
	}
}

func (p *Program) samePairs(i, j int) bool {
	a, b := p.Children[i], p.Children[j]
	return a.SameItems && b.SameItems && a.Root == b.Root
}

// pairsNotReady returns the first dependency whose item at index is not ready, and why.
func (e *Evaluation) pairsNotReady(child *Child, index int32) *Problem {
	for _, j := range child.WaitsFor {
		other := e.prog.Children[j]
		if !other.SameItems || other.Root != child.Root {
			continue
		}
		if p := e.pairNotReady(j, index); p != nil {
			return Waiting("waits for %s to be ready: %s", other.ID, p.Text()).Under("dependsOn")
		}
	}
	return nil
}

func (e *Evaluation) pairNotReady(j int, index int32) *Problem {
	n := &e.nodes[j]
	at := e.pair(j, index)
	switch {
	case at == nil && n.problem != nil:
		return n.problem
	case at == nil || at.item == 0 && at.problem == nil && !at.skipped && !at.uncreated:
		return Waiting("it is not up to date")
	case at.skipped, at.uncreated:
		return nil
	case at.problem != nil:
		return at.problem
	}
	it := &n.items[at.item-1]
	if it.live == nil {
		return Waiting("it is not up to date")
	}
	p := e.itemNotReady(e.prog.Children[j], it)
	if p == nil {
		return nil
	}
	return p.Of(it.live.GetName())
}

// pair is the state of an item of a child; nil if it is unknown.
func (e *Evaluation) pair(i int, index int32) *pair {
	if child := e.prog.Children[i]; e.isLeftOut(child.GVK, child.Optional) {
		return &pair{skipped: true}
	}
	if e.reads == nil || i >= len(e.reads.items) || int(index) >= len(e.reads.items[i].pairs) {
		return nil
	}
	return &e.reads.items[i].pairs[index]
}

// identity identifies an object. The version of its API does not matter.
type identity struct {
	group, kind, namespace, name string
}

func identityOf(u *unstructured.Unstructured) identity {
	gvk := u.GroupVersionKind()
	return identity{group: gvk.Group, kind: gvk.Kind, namespace: u.GetNamespace(), name: u.GetName()}
}

// String formats the identity for messages.
func (id identity) String() string {
	if id.namespace == "" {
		return fmt.Sprintf("%s %q", id.kind, id.name)
	}
	return fmt.Sprintf("%s %q", id.kind, id.namespace+"/"+id.name)
}

// objectPlace is where a rendered object belongs.
type objectPlace struct {
	Kind string
	// Namespaced is true if the kind of the object is.
	Namespaced bool
	// Parent is the namespace of the parent. It is empty for a cluster-scoped parent, and in an evaluation for a parent
	// of which only the kind is known; ParentNamespaced distinguishes the two.
	Parent           string
	ParentNamespaced bool
}

// completeObject checks the name and the namespace of an object, and sets the parent's namespace if it has none. The paths of
// problems are below metadata.
func completeObject(object *unstructured.Unstructured, at objectPlace) *Problem {
	metadata, ok := object.Object["metadata"].(map[string]any)
	if !ok {
		return Failure("must be a map")
	}
	if p := checkName(metadata); p != nil {
		return p
	}
	namespace, ok := metadata["namespace"].(string)
	switch {
	case metadata["namespace"] != nil && (!ok || namespace == ""):
		return Failure("must be a string that is not empty").Under("namespace")
	case !at.Namespaced && namespace != "":
		return Failure("%s is cluster-scoped and cannot have a namespace", at.Kind).Under("namespace")
	case !at.Namespaced || namespace != "":
	case at.Parent != "":
		metadata["namespace"] = at.Parent
	case !at.ParentNamespaced:
		return Failure("is needed, because the parent is cluster-scoped").Under("namespace")
	}
	return nil
}

func checkName(metadata map[string]any) *Problem {
	name, ok := metadata["name"].(string)
	switch {
	case metadata["name"] == nil:
		return Failure("is missing").Under("name")
	case !ok:
		return Failure("must be a string, and is %s", TypeOf(metadata["name"])).Advising("make it one with string(…)").Under("name")
	case name == "":
		return Failure("is empty").Under("name")
	case metadata["generateName"] != nil:
		return Failure("would create a new object at every evaluation").Under("generateName")
	}
	return nil
}

func checkPatchFields(fields map[string]any) *Problem {
	for _, name := range []string{"apiVersion", "kind"} {
		if _, there := fields[name]; there {
			return Failure("a patch cannot set it").Under(name)
		}
	}
	metadata, there := fields["metadata"]
	if !there {
		return nil
	}
	inner, ok := metadata.(map[string]any)
	if !ok {
		return Failure("must be a map").Under("metadata")
	}
	for _, name := range append([]string{"name", "namespace", "generateName"}, syntax.ServerFields()...) {
		if _, there := inner[name]; there {
			return Failure("a patch cannot set it").Under("metadata." + name)
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		keys, _ := inner[field].(map[string]any)
		for name := range keys {
			if syntax.IsOwnMark(name) {
				return Failure("a patch cannot set it: it is Kanon's own").Under(fmt.Sprintf("metadata.%s[%s]", field, name))
			}
		}
	}
	return nil
}
