package reconcile

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/tenant"
	"kanon.dev/kanon/rules/program"
)

// readGate returns an error if the rule of a reconcile may not read something. An empty name stands for all objects of
// a namespace; if the namespace is empty too, for those of all namespaces.
type readGate func(gvr schema.GroupVersionResource, namespace, name string) error

// readGate returns the gate of a rule.
func (r *Reconciler) readGate(ctx context.Context, op *operator.Operator) readGate {
	return func(gvr schema.GroupVersionResource, namespace, name string) error {
		return r.Reads.Check(ctx, op.Identity, tenant.Read{Resource: gvr, Namespace: namespace, Name: name})
	}
}

// checkParentReads returns an error if the rule may not see a parent, or the Namespace by which it selects the parent.
// A nil parent does not exist.
func (r *Reconciler) checkParentReads(ctx context.Context, op *operator.Operator, parent *unstructured.Unstructured) error {
	if parent == nil {
		return nil
	}
	mayRead := r.readGate(ctx, op)
	if err := mayRead(op.Parent.GVR, parent.GetNamespace(), parent.GetName()); err != nil || op.NamespaceKey == nil {
		return err
	}
	return mayRead(operator.NamespacesGVR, "", parent.GetNamespace())
}

// unread is the outcome of a reconcile of a parent that the rule must not see. Only the report on the rule mentions it,
// not the parent. In the report on a tenant's rule, the refusal concerns all of its parents, so that the report does
// not reveal that this parent exists.
func (r *Reconciler) unread(op *operator.Operator, err error) queue.Outcome {
	if !lacksRights(err) {
		return queue.Outcome{Verdict: queue.Again, Err: err}
	}
	out := queue.Await(queue.RightsChange)
	out.After = tenant.Lifetime
	if op.Identity.Confined && op.Removal == nil {
		r.Queue.AddPatient(queue.Key{Rule: op.ID})
		return out
	}
	out.Denied = err.Error()
	return out
}

// prepareChild prepares a child to be written. It refuses an object that no rule may write, and one that grants rights
// unless the rule may write such objects.
func (p *pass) prepareChild(ctx context.Context, w *childWrite, wanted apply.Wanted) (*apply.Child, error) {
	child, err := p.r.Writer.Prepare(ctx, wanted)
	if err != nil {
		return nil, err
	}
	if reason := program.PrivilegeOfObject(w.object); reason != "" && !p.op.Program.AllowPrivileged {
		return nil, &program.PrivilegeError{Object: mark.RefOf(w.object).String(), Because: reason}
	}
	return child, nil
}

// lacksRights reports whether an error means that a ServiceAccount lacks a right, which somebody could grant. The API
// server also forbids for other reasons, such as a quota.
func lacksRights(err error) bool {
	denied, ok := errors.AsType[*tenant.DeniedError](err)
	return ok && len(denied.Verbs) > 0 || apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot ")
}
