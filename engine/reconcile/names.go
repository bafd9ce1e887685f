package reconcile

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/rules/program"
)

// namesOf returns the names and keys of a parent's children that people must not be told, because the rule computes them
// from Secrets; nil for any other rule. A child that exists may have a name from a value that the Secret no longer has.
func (r *Reconciler) namesOf(op *operator.Operator, k queue.Key) *conditions.Names {
	if !op.Program.HidesNames && !op.Program.HidesKeys {
		return nil
	}
	names, tags := conditions.NewNames(k.Parent.Namespace), op.TagsOf(k)
	for kind := range op.ChildKinds() {
		for _, object := range r.childHeads(op, kind.GVR, tags) {
			if node := r.childOf(kind.GVR, object).Owner.Node; node != "" && isPrivate(op, node) {
				names.Note(mark.RefOf(object), "child "+node)
			}
		}
	}
	return names
}

// discreet returns a context whose logger leaves the names out.
func discreet(ctx context.Context, names *conditions.Names) context.Context {
	if names == nil {
		return ctx
	}
	return logr.NewContext(ctx, names.Log(logr.FromContextOrDiscard(ctx)))
}

// isPrivate reports whether people must not be told the names of a node's objects. Those of a node that the rule no
// longer has may be secret.
func isPrivate(op *operator.Operator, node string) bool {
	i, ok := op.Program.ByID[node]
	return !ok && op.Program.HidesNames || ok && op.Program.Children[i].Private
}

// hideRendered adds to the hidden names those of the objects that a node renders.
func (p *pass) hideRendered(node *program.Rendered) {
	if p.names == nil {
		return
	}
	if child := p.op.Program.Children[p.op.Program.ByID[node.Node]]; child.PrivateKeys {
		for _, object := range node.Objects {
			p.names.NoteKeys(program.ComputedKeys(child.Template, object.Object), "a key of child "+node.Node)
		}
	}
	if !isPrivate(p.op, node.Node) {
		return
	}
	for i, object := range node.Objects {
		as := "child " + node.Node
		if p.op.Program.Children[p.op.Program.ByID[node.Node]].IsList {
			as = fmt.Sprintf("%s[%d]", as, i)
		}
		p.names.Note(mark.RefOf(object), as)
	}
	for _, object := range node.Kept {
		p.names.Note(mark.RefOf(object), "child "+node.Node)
	}
}

// hideTargets adds to the hidden names those of the targets of the patches.
func (p *pass) hideTargets() {
	for _, patch := range p.result.Patches {
		planned := p.op.Patches[patch.ID]
		if p.names == nil {
			continue
		}
		for _, item := range patch.Contributions {
			if planned.PrivateKeys && item.Object != nil {
				p.names.NoteKeys(program.ComputedKeys(planned.Template, item.Object.Object), "a key of patch "+patch.ID)
			}
			if !planned.IsPrivate() {
				continue
			}
			p.names.Note(planned.RefTo(types.NamespacedName{Namespace: item.Target.Namespace, Name: item.Target.Name}), planned.PrivateName())
		}
	}
}

// emit emits an Event about the parent.
func (p *pass) emit(reason, format string, args ...any) {
	conditions.Emit(p.r.Recorder, p.op.Name, p.parent, corev1.EventTypeNormal, reason, "%s", p.names.Text(fmt.Sprintf(format, args...)))
}
