package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/celenv/value"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// identity is what makes two objects one.
type identity struct {
	group, kind, namespace, name string
}

func identityOf(u *unstructured.Unstructured) identity {
	gvk := u.GroupVersionKind()
	return identity{group: gvk.Group, kind: gvk.Kind, namespace: u.GetNamespace(), name: u.GetName()}
}

func (id identity) String() string {
	if id.namespace == "" {
		return fmt.Sprintf("%s %q", id.kind, id.name)
	}
	return fmt.Sprintf("%s %q", id.kind, id.namespace+"/"+id.name)
}

// parentClaim stands for the parent among those that claim an identity.
const parentClaim = -1

// renderNode renders a child whose needs are settled.
func (e *Evaluation) renderNode(i int) {
	child := e.prog.children[i]
	n := &e.nodes[i]
	if child.ForEach {
		e.renderItems(i)
		return
	}
	it := item{scope: scope{ev: e, body: &child.body, locals: newMemos(&child.body)}}
	p := e.renderItem(child, &it)
	switch {
	case p != nil:
		e.stop(i, p)
		return
	case it.object == nil:
		n.state = nodeSkipped
		return
	}
	id := identityOf(it.object)
	if p := e.claim(i, id); p != nil {
		e.stop(i, p)
		return
	}
	if it.fate == fateUncreated {
		n.state, n.uncreated = nodeUncreated, []*unstructured.Unstructured{it.object}
		return
	}
	n.items = []item{it}
	e.rendersAll(i)
}

func newMemos(b *body) []memo {
	if len(b.locals) == 0 {
		return nil
	}
	return make([]memo, len(b.locals))
}

// claim keeps two children from rendering one object.
func (e *Evaluation) claim(i int, id identity) *problem {
	other, taken := e.claimed[id]
	switch {
	case !taken:
		e.claimed[id] = i
		return nil
	case other == parentClaim:
		return failure("%s is the parent itself", id).under("template.metadata.name")
	}
	return failure("%s is rendered by %s as well", id, e.prog.children[other].ID).under("template.metadata.name")
}

// renderItem renders the object of an item, which has none when its when is false,
// and decides what is to be done with it.
func (e *Evaluation) renderItem(child *compiledChild, it *item) *problem {
	if child.when != nil {
		ok, p := child.when.isTrue(&it.scope)
		if p != nil {
			return p.under("when")
		}
		if !ok {
			return nil
		}
	}
	if p := e.checkKind(child.GVK); p != nil {
		return p
	}
	object, p := e.renderObject(child, &it.scope)
	if p != nil {
		return p
	}
	if p := e.decide(child, it, object); p != nil {
		return p
	}
	if p := e.decideIgnored(child, &it.scope, identityOf(object)); p != nil {
		return p
	}
	if p := e.decideDeletion(child, &it.scope, identityOf(object)); p != nil {
		return p
	}
	it.object = object
	return nil
}

// renderObject renders the template of a child.
func (e *Evaluation) renderObject(child *compiledChild, s *scope) (*unstructured.Unstructured, *problem) {
	e.makeRoom()
	val, ok, p := child.template.render(s)
	if p != nil {
		return nil, p.under("template")
	}
	fields, isMap := val.(map[string]any)
	if !ok || !isMap {
		return nil, failure("the template gives no object").under("template")
	}
	object := &unstructured.Unstructured{Object: fields}
	if p := e.identify(child, object); p != nil {
		return nil, p.under("template.metadata")
	}
	if p := e.holdObject(fields); p != nil {
		return nil, p.under("template")
	}
	return object, nil
}

// guarded says whether an object that is there may have to stay as it is.
func (c *compiledChild) guarded() bool {
	return c.updateWhen != nil || c.UpdatePolicy == syntax.UpdateCreateOnly || len(c.generated) > 0
}

// decide asks createWhen about an object that is not there, and updateWhen about
// one that is.
func (e *Evaluation) decide(child *compiledChild, it *item, object *unstructured.Unstructured) *problem {
	if child.createWhen == nil && !child.guarded() && !child.renews() && child.rollout == nil {
		return nil
	}
	var live, replaced *unstructured.Unstructured
	if e.reader != nil {
		var err error
		if live, err = e.reader.Live(object); err != nil {
			return waiting("it is not known yet whether it exists: %s", err.Error())
		}
		if live == nil {
			replaced = e.reader.Replaced(object)
		}
	}
	it.before = live
	if kept := cmp.Or(live, replaced); kept != nil {
		if p := e.keepGenerated(child, it, object, kept); p != nil {
			return p
		}
	}
	switch {
	case live == nil && child.createWhen != nil:
		ok, p := child.createWhen.isTrue(&it.scope)
		if p != nil {
			return p.under("createWhen")
		}
		if !ok {
			it.fate = fateUncreated
		}
	case live != nil && child.UpdatePolicy == syntax.UpdateCreateOnly:
		it.fate, it.live = fateKept, live
	case live != nil && child.updateWhen != nil:
		s := it.scope
		s.self = live.Object
		ok, p := child.updateWhen.isTrue(&s)
		if p != nil {
			return p.under("updateWhen")
		}
		if !ok {
			it.fate, it.live = fateKept, live
		}
	}
	if live == nil {
		return nil
	}
	return e.decideRenewal(child, it, live)
}

// identify checks what names the object and completes its namespace.
func (e *Evaluation) identify(child *compiledChild, object *unstructured.Unstructured) *problem {
	metadata, ok := object.Object["metadata"].(map[string]any)
	if !ok {
		return failure("must be a map")
	}
	name, ok := metadata["name"].(string)
	switch {
	case metadata["name"] == nil:
		return failure("is missing").under("name")
	case !ok:
		return failure("must be a string, and is %s", jsonType(metadata["name"])).advising("make it one with string(…)").under("name")
	case name == "":
		return failure("is empty").under("name")
	}
	if metadata["generateName"] != nil {
		return failure("would create a new object at every evaluation").under("generateName")
	}
	namespace, ok := metadata["namespace"].(string)
	if metadata["namespace"] != nil && (!ok || namespace == "") {
		return failure("must be a string that is not empty").under("namespace")
	}
	switch {
	case !child.Namespaced && namespace != "":
		return failure("%s is cluster-scoped and cannot have a namespace", child.GVK.Kind).under("namespace")
	case child.Namespaced && namespace == "":
		if e.object.GetNamespace() != "" {
			metadata["namespace"] = e.object.GetNamespace()
		} else if !e.prog.parent.Namespaced {
			return failure("is needed, because the parent is cluster-scoped").under("namespace")
		}
	}
	return nil
}

func jsonType(val any) string {
	return value.TypeText(value.FromJSON(val))
}

// renderItems renders a forEach. An item that waits or fails does not stop the
// others, but it makes the node partial, because its identity may be unknown.
func (e *Evaluation) renderItems(i int) {
	child := e.prog.children[i]
	n := &e.nodes[i]
	tuples, p := e.itemsOf(i)
	if p != nil {
		e.stop(i, p)
		return
	}
	n.items = make([]item, 0, len(tuples))
	first := make(map[identity]int, len(tuples))
	for at, t := range tuples {
		p := e.overdue()
		if p == nil {
			p = e.holdItem(&child.body)
		}
		if p != nil {
			e.stop(i, p)
			return
		}
		it := item{scope: scope{ev: e, body: &child.body, items: t, index: int32(at), locals: newMemos(&child.body)}} //nolint:gosec // maxItems is far less.
		if p := e.renderPaired(i, &it); p != nil {
			n.leaveOut(it.scope.index, p)
			continue
		}
		if it.object == nil {
			continue
		}
		id := identityOf(it.object)
		if at, twice := first[id]; twice {
			if at >= 0 {
				n.items[at].object = nil
			}
			first[id] = -1
			n.leaveOut(it.scope.index, failure("two items are %s; nothing is deleted until each has a name of its own", id).
				advising("build the name from what is different for each item").under("template.metadata.name"))
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

// rendersAll ends the rendering of a node, unless that makes too many children.
func (e *Evaluation) rendersAll(i int) {
	n, most := &e.nodes[i], e.prog.limits.Children
	total := e.rendered + len(n.items)
	switch {
	case total <= most:
		e.rendered, n.state = total, nodeRendered
	case e.rendered == 0:
		e.stop(i, failure("renders %s children, more than the %s allowed by --max-children", diagnostic.Number(len(n.items)), diagnostic.Number(most)))
	default:
		e.stop(i, failure("renders %s children, which makes %s with those of other nodes, more than the %s allowed by --max-children",
			diagnostic.Number(len(n.items)), diagnostic.Number(total), diagnostic.Number(most)))
	}
}

// leaveOut notes why an item is not rendered. A failure outweighs waiting, as
// it needs someone to do something.
func (n *nodeState) leaveOut(index int32, p *problem) {
	n.partial = true
	n.missing++
	if n.leftOut == 0 || index < n.leftOut {
		n.leftOut = index + 1
	}
	if n.problem == nil || n.problem.verdict == waits && p.verdict != waits {
		n.problem = p
	}
}

// dropMissing leaves out the items that turned out to have the identity of a later
// one, and puts those apart that are not to be made.
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

// tuples are the values of the forEach names for each item: the product of all
// dimensions, the last of them turning fastest.
func (e *Evaluation) tuples(b *body) ([][]ref.Val, *problem) {
	tuples := [][]ref.Val{nil}
	for d := range b.forEach {
		dim := &b.forEach[d]
		var next [][]ref.Val
		count := 0
		for _, t := range tuples {
			values, p := e.values(b, dim, t)
			if p != nil {
				return nil, p.under(dim.path)
			}
			if p := e.prog.limits.list(len(values)); p != nil {
				return nil, p.under(dim.path)
			}
			if count += len(values); count > e.prog.limits.Children {
				continue // to know how many there are
			}
			if p := e.hold(int64(len(values)) * tupleBytes * int64(len(t)+1)); p != nil {
				return nil, p.under(dim.path)
			}
			for _, v := range values {
				next = append(next, append(slices.Clip(t), v))
			}
		}
		if most := e.prog.limits.Children; count > most {
			return nil, failure("makes %s items, more than the %s allowed by --max-children", diagnostic.Number(count), diagnostic.Number(most)).under(dim.path)
		}
		tuples = next
	}
	return tuples, nil
}

// values are the items of one dimension; before are those of the dimensions
// before it.
func (e *Evaluation) values(b *body, dim *dimension, before []ref.Val) ([]ref.Val, *problem) {
	s := &scope{ev: e, body: b, items: before, readOnly: true}
	var val ref.Val
	if t, ok := dim.in.(exprTemplate); ok {
		v, p := t.x.eval(s)
		if p != nil {
			return nil, p
		}
		val = v
	} else {
		v, _, p := dim.in.render(s)
		if p != nil {
			return nil, p
		}
		val = value.FromJSON(v)
	}
	if n, ok := value.Count(val); ok {
		if p := e.prog.limits.list(n); p != nil {
			return nil, p
		}
	}
	values, err := value.Items(val)
	if err != nil {
		return nil, failure("%s", err.Error())
	}
	return values, nil
}
