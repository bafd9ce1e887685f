package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/identity"
)

// Outdated implements rules.Reader.
func (p *pass) Outdated(node string, rendered, live *unstructured.Unstructured) bool {
	outdated, known := apply.Outdated(rendered, live, p.policyOf(node, rendered))
	if !known {
		// It was made before the node had a rollout, so it says less. Where nothing is
		// written there is no need to look closer.
		return p.outdated == nil || p.outdated(node, rendered, live)
	}
	return outdated
}

// outdatedIn is Outdated for an object that does not say by itself with what content
// it was applied. Whether it is not valid is found when its turn has come.
func (p *pass) outdatedIn(ctx context.Context) func(node string, rendered, live *unstructured.Unstructured) bool {
	return func(node string, rendered, live *unstructured.Unstructured) bool {
		object := rendered.DeepCopy()
		p.carryRecreation(object, live)
		w := &write{node: node, object: object}
		if p.op.refers(p.parent, object) {
			w.controller = p.op.controllerRef(p.parent)
		}
		child, err := p.writer.Prepare(ctx, object, p.op.owner(p.parent, node), w.controller, p.policyOf(node, rendered))
		return err != nil || child.Outdated(live)
	}
}

// inOrder leaves of the children to delete those that may be deleted now. What a node
// makes in order goes in order, too: the last by name first, with numbers in it as
// numbers, and the next when that one is gone.
func (p *pass) inOrder(stale []staleChild) []staleChild {
	last := make(map[string]int, len(p.op.ordered))
	for i := range stale {
		node := p.nodeOf(stale[i].object)
		if !p.op.ordered[node] {
			continue
		}
		if at, ok := last[node]; !ok || compareNames(stale[i].object, stale[at].object) > 0 {
			last[node] = i
		}
	}
	if len(last) == 0 {
		return stale
	}
	var found []staleChild
	for i, child := range stale {
		node := p.nodeOf(child.object)
		if at, ordered := last[node]; !ordered || at == i && !p.isLeaving(node) {
			found = append(found, child)
		}
	}
	return found
}

// isLeaving tells whether an object that a node made, and does not render any more, is
// on its way out.
func (p *pass) isLeaving(node string) bool {
	children := p.childHeads(p.op, p.op.nodes[node].GVR, p.key)
	return slices.ContainsFunc(children, func(obj *unstructured.Unstructured) bool {
		return obj.GetDeletionTimestamp() != nil && !p.desired[identity.Of(obj)] && p.madeBy(obj, node)
	})
}

// nodeOf is the node that made a child.
func (p *pass) nodeOf(child *unstructured.Unstructured) string {
	owner, _ := p.marks.OwnerOf(child)
	return owner.Node
}

// compareNames orders objects by namespace and name, and numbers in a name as numbers.
func compareNames(a, b *unstructured.Unstructured) int {
	return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), compareNumbered(a.GetName(), b.GetName()))
}

// compareNumbered orders texts with the numbers in them as numbers: web-2 before web-10.
// Those that differ in leading zeros only, as text.
func compareNumbered(a, b string) int { return cmp.Or(compareNumbers(a, b), strings.Compare(a, b)) }

func compareNumbers(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			m, n := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
			if c := cmp.Or(cmp.Compare(len(m), len(n)), strings.Compare(m, n)); c != 0 {
				return c
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits is how many digits a text begins with.
func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}
