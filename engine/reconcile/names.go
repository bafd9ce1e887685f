package reconcile

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/rules/program"
)

// hideNames has the names that the rule computes from Secrets replaced in all that people are told, and returns a context
// whose logger leaves them out. A child that exists may have a name from a value that the Secret no longer has.
func (p *pass) hideNames(ctx context.Context) context.Context {
	if !p.op.Program.HidesNames && !p.op.Program.HidesKeys {
		return ctx
	}
	p.names = conditions.NewNames(p.parent.GetNamespace())
	tags := p.op.TagsOf(p.key)
	for kind := range p.op.ChildKinds() {
		for _, object := range p.r.childHeads(p.op, kind.GVR, tags) {
			if node := p.r.childOf(kind.GVR, object).Owner.Node; node != "" && p.isPrivate(node) {
				p.names.Note(mark.RefOf(object), "child "+node)
			}
		}
	}
	return logr.NewContext(ctx, p.names.Log(logr.FromContextOrDiscard(ctx)))
}

// isPrivate reports whether people must not be told the names of a node's objects. Those of a node that the rule no
// longer has may be secret.
func (p *pass) isPrivate(node string) bool {
	i, ok := p.op.Program.ByID[node]
	return !ok && p.op.Program.HidesNames || ok && p.op.Program.Children[i].Private
}

// hideRendered is hideNames for the objects that a node renders.
func (p *pass) hideRendered(node *program.Rendered) {
	if p.names == nil {
		return
	}
	if child := p.op.Program.Children[p.op.Program.ByID[node.Node]]; child.PrivateKeys {
		for _, object := range node.Objects {
			p.names.NoteKeys(program.ComputedKeys(child.Template, object.Object), "a key of child "+node.Node)
		}
	}
	if !p.isPrivate(node.Node) {
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

// hideTargets is hideNames for the targets of the patches.
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
