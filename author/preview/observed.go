package preview

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/author/memory"
	"kanon.dev/kanon/author/redact"
	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/reconcile"
	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// Of describes a reconcile of the parent of a cluster in memory.
func Of(ctx context.Context, c *memory.Cluster, of *program.Program, pass memory.Pass) *Preview {
	p := &Preview{Rule: of.Name, Parent: cmp.Or(c.Parent(), c.Given), Secrets: redact.Values{}}
	for _, object := range c.API.All() {
		p.Secrets.Note(object)
	}
	if p.Unmatched = unselected(of.Parent, p.Parent, c.Namespace); p.Unmatched != "" {
		p.Outside = true
		return p
	}
	if pass.Observed == nil {
		p.Unmatched = "it is being deleted"
		return p
	}
	p.Parent = pass.Parent
	p.Secrets.Note(p.Parent)
	switch ok, err := pass.Evaluation.Matches(); {
	case err != nil:
		p.Unmatched, p.failed = "it is not known whether it is for the parent: "+err.Error(), true
		return p
	case !ok:
		p.Unmatched = "spec.parent.when is false"
		return p
	}
	p.Result, p.Evaluation = pass.Result, pass.Evaluation
	v := viewer{ctx: ctx, api: c.API, program: of, pass: pass}
	for _, outcome := range p.Result.Nodes {
		node := v.node(outcome)
		for _, object := range node.rendered() {
			p.Secrets.Note(object)
		}
		p.Nodes = append(p.Nodes, node)
	}
	if pass.Reported == nil {
		return p
	}
	for _, problem := range pass.Reported.Problems {
		if problem.Subject == "status" && conditions.IsInvalid(problem.Err) {
			p.StatusRefused = refusal(of, problem.Err)
		}
	}
	return p
}

// viewer describes what a reconcile wrote.
type viewer struct {
	ctx     context.Context //nolint:containedctx // it does not outlive Of
	api     *memory.API
	program *program.Program
	pass    memory.Pass
}

// node describes a node and its objects.
func (v viewer) node(outcome program.NodeResult) Node {
	node := Node{NodeResult: outcome}
	i := slices.IndexFunc(v.pass.Nodes, func(r program.Rendered) bool { return r.Node == outcome.ID })
	if i < 0 {
		return node
	}
	rendered, child := &v.pass.Nodes[i], v.program.Children[v.program.ByID[outcome.ID]]
	for _, object := range rendered.Kept {
		w := v.write(object)
		node.Kept = append(node.Kept, Object{
			Unstructured: object, Why: whyKept(rendered, child, object, w.Before != nil),
			Recreated: w.Before != nil && recreatesLater(rendered, child, w), NotReady: v.pass.Evaluation.WhyNotReady(outcome.ID, object),
		})
	}
	for i, object := range rendered.Objects {
		w := v.write(object)
		if w.Err != nil {
			node.Refused = append(node.Refused, Refused{Object: object, Err: refusal(v.program, w.Err)})
			if w.Recreated == "" {
				continue
			}
		}
		if w.Live == nil && w.Err == nil {
			continue // it is only repaired, and does not exist
		}
		written, err := v.api.Normalised(v.ctx, object)
		if err != nil {
			written = object
		}
		if annotations := written.GetAnnotations(); annotations[mark.AnnotationRecreated] != "" {
			written = written.DeepCopy()
			if delete(annotations, mark.AnnotationRecreated); len(annotations) == 0 {
				annotations = nil
			}
			written.SetAnnotations(annotations)
		}
		made := Object{
			Unstructured: object, Written: written, Ending: v.pass.Evaluation.Ending(object),
			NotReady: v.pass.Evaluation.WhyNotReady(outcome.ID, object), Adopted: w.Adopted,
		}
		mayRecreate := child.UpdatePolicy == syntax.UpdateApplyOrRecreate && rendered.Recreation(i) != program.RecreationForbidden
		if why := cmp.Or(w.Recreated, v.pass.Recreated[identity.Of(object)]); why != "" {
			made.Recreated, made.Why = true, "is deleted and recreated: "+why
		} else if w.Before != nil && mayRecreate && v.pass.Changed[identity.Of(object)] {
			made.Why = "is changed, or deleted and recreated where the API server does not allow the change"
		}
		node.Objects = append(node.Objects, made)
	}
	return node
}

// write returns the write of an object.
func (v viewer) write(object *unstructured.Unstructured) reconcile.Write {
	if i := slices.IndexFunc(v.pass.Writes, func(w reconcile.Write) bool { return w.Object == object }); i >= 0 {
		return v.pass.Writes[i]
	}
	return reconcile.Write{Object: object}
}

// refusal is the error of a write for people: what the API server refuses, as definitions say it.
func refusal(of *program.Program, err error) error {
	refused, ok := errors.AsType[*definitions.Refusal](err)
	switch {
	case ok && of.HasSecrets:
		return refused.WithoutValues()
	case ok:
		return refused
	case of.HasSecrets:
		return conditions.Redact(err)
	default:
		return err
	}
}

// whyKept says why an object is not written.
func whyKept(node *program.Rendered, child *program.Child, object *unstructured.Unstructured, exists bool) string {
	switch {
	case !exists:
		return "is not created: its createWhen is false"
	case slices.ContainsFunc(node.Awaiting, func(a program.Awaiting) bool { return a.Object == object }):
		return "stays as it is for now: what it depends on is not ready"
	case slices.Contains(node.Postponed, object):
		return "stays as it is for now: its rollout has not come to it"
	case child.UpdatePolicy == syntax.UpdateCreateOnly:
		return "stays as it is: its updatePolicy is CreateOnly"
	default:
		return "stays as it is: its updateWhen is false"
	}
}

// recreatesLater reports whether an object that is left unchanged for now will be recreated later.
func recreatesLater(node *program.Rendered, child *program.Child, w reconcile.Write) bool {
	if slices.Contains(node.Postponed, w.Object) && child.UpdatePolicy == syntax.UpdateRecreate {
		outdated, known := fieldset.Outdated(w.Object, w.Before, w.Policy)
		return outdated || !known
	}
	return slices.ContainsFunc(node.Awaiting, func(a program.Awaiting) bool {
		return a.Object == w.Object && (child.UpdatePolicy == syntax.UpdateRecreate || child.UpdatePolicy == syntax.UpdateApplyOrRecreate || a.Recreation.IsDue())
	})
}

// IsFinal reports whether the refusal stays until somebody does something. It does not if the object is being deleted.
func (r Refused) IsFinal() bool {
	_, terminating := errors.AsType[*apply.TerminatingError](r.Err)
	return !terminating
}
