package engine

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/reconcile"
	"kanon.dev/kanon/engine/telemetry"
	"kanon.dev/kanon/engine/tenant"
)

// maxRetries is how many reconciles in a row may be repeated, because an object changed during each of them, until the log
// says so. With the default pauses, that takes almost a minute. An admission webhook that refuses each write as a conflict
// never lets such a series end.
const maxRetries = 10

// workOn reconciles one key and returns it to the queue.
func (e *Engine) workOn(ctx context.Context, k queue.Key) {
	defer e.queue.Done(k)
	log := logr.FromContextOrDiscard(ctx).WithValues("rule", e.running.NameOf(k.Rule), "parent", k.Parent.String())
	if k.Patch != "" {
		log = logr.FromContextOrDiscard(ctx).WithValues("rule", e.running.NameOf(k.Rule), "patch", k.Patch, "target", e.running.TargetOf(k))
	}
	if op := e.running.Get(k.Rule); op != nil {
		log = conditions.LogAt(log, int(op.Verbosity.Load()))
	}
	work := telemetry.Begin(e.running.NameOf(k.Rule), e.options.Counts)
	traced, end := e.trace(ctx, k)
	removals := e.running.Load().Removals
	out := e.reconcileSafely(telemetry.NewContext(logr.NewContext(traced, log), work), k)
	telemetry.Describe(traced, "kanon.verdict", out.Verdict.String())
	end(out.Err)
	if out.Verdict != queue.Later { // Later did no work
		work.End(out.Verdict.String())
	}
	switch {
	case out.Err == nil || ctx.Err() != nil:
	case apply.OutOfDate(out.Err): // this is common
		out.Retry = out.Err
		log.V(2).Info("Object changed during the reconcile; retrying", "err", out.Err.Error())
	default:
		if panicked, ok := errors.AsType[*queue.PanicError](out.Err); ok {
			log = log.WithValues("stack", string(panicked.Stack))
		}
		log.Error(out.Err, "Reconcile failed; retrying")
	}
	if op := e.running.Get(k.Rule); op != nil && out.Verdict != queue.Later && e.noteDenied(op, k, out) {
		e.inbox.Notify() // the report on the rule says so
	}
	if out.Verdict != queue.Later && e.parents.CountRetry(k, out.Retry != nil) == maxRetries {
		log.Error(out.Retry, "Objects change during each reconcile; retrying", "reconciles", maxRetries)
	}
	if e.running.Get(k.Rule) == nil {
		// The rule stopped and was forgotten before this reconcile ended.
		e.parents.Forget(k)
		e.readers.Keep(k, nil)
	}
	if out.IsDecided() {
		e.noteHeir(removals, k)
	}
	log.V(4).Info("Reconciled", "verdict", out.Verdict, "awaits", out.Awaits, "after", out.After)
	e.requeue(k, out)
}

// requeue returns a key to the queue after a reconcile.
func (e *Engine) requeue(k queue.Key, out queue.Outcome) {
	if out.After > 0 {
		e.queue.AddAfter(k, out.After)
	}
	switch out.Verdict {
	default: // settled or waiting
		if !out.IsSure() {
			e.queue.AddRateLimited(k)
			return
		}
		failed := e.queue.NumRequeues(k) > 0
		e.queue.Forget(k)
		if failed {
			e.queue.AddPatient(k) // events of its own writes were ignored during the pause
		}
	case queue.Later: // a pause after a failure continues
	case queue.Again:
		if out.Requested {
			e.queue.Forget(k)
		}
		e.queue.AddRateLimited(k)
	}
}

// noteDenied records what a rule may not do, or what its removal waits for. It reports whether that has changed.
func (e *Engine) noteDenied(op *operator.Operator, k queue.Key, out queue.Outcome) (changed bool) {
	switch {
	case op.Removal != nil && k.Patch != "": // no parent reports what blocks the restoring of a patch
		why := ""
		if out.Err != nil {
			why = out.Err.Error()
		}
		return e.parents.SetDenied(queue.Key{Rule: k.Rule}, why)
	case op.Removal != nil:
		return e.parents.SetDenied(k, cmp.Or(out.Denied, out.Waits))
	case op.Identity.IsZero():
		return false
	}
	return e.parents.SetDenied(k, out.Denied)
}

// trace begins the trace of a key's reconcile, if there is a Tracer.
func (e *Engine) trace(ctx context.Context, k queue.Key) (traced context.Context, end func(error)) {
	if e.options.Tracer == nil {
		return telemetry.Root(ctx, nil, "")
	}
	return telemetry.Root(ctx, e.options.Tracer, "reconcile",
		attribute.String("kanon.rule", e.running.NameOf(k.Rule)), attribute.String("kanon.object", k.Parent.String()), attribute.String("kanon.patch", k.Patch))
}

// reconcileSafely turns a panic into an error, so that one parent with unexpected input does not end the work on all
// others.
func (e *Engine) reconcileSafely(ctx context.Context, k queue.Key) (out queue.Outcome) {
	out.Verdict = queue.Again // after a panic
	defer queue.ContainPanic(&out.Err)
	out = e.reconcile(ctx, k)
	if errors.Is(out.Err, context.Canceled) || errors.Is(out.Err, reconcile.ErrNoMemory) {
		out.Verdict, out.Err = queue.Again, nil
	}
	return out
}

// reconcile brings the object of a key up to date: a parent, or the target of a patch.
func (e *Engine) reconcile(ctx context.Context, k queue.Key) queue.Outcome {
	op := e.running.Get(k.Rule)
	identity, known := e.identityOf(op, k.Rule)
	if !known {
		return queue.Await(queue.RuleStarts) // it is unknown with whose rights
	}
	ctx = tenant.NewContext(ctx, identity)
	ready := op != nil && e.ready(op)
	switch {
	case k.Patch != "":
		return e.patches.Reconcile(ctx, op, k, ready)
	case ready && k.IsRuleWork():
		return e.doRuleWork(ctx, op)
	case ready:
		return e.reconciler.Reconcile(ctx, op, k)
	}
	return queue.Await(queue.RuleStarts)
}

// identityOf returns as whom the work of a rule is done: for a rule that does not run, by its record. known is false
// for a rule of which nothing is known.
func (e *Engine) identityOf(op *operator.Operator, id string) (who tenant.Identity, known bool) {
	if op != nil {
		return op.Identity, true
	}
	stored, ok := e.records.Get(id)
	namespace, name, named := strings.Cut(stored.Rule, "/")
	return operator.IdentityOf(types.NamespacedName{Namespace: namespace, Name: name}, stored.ServiceAccountName, stored.Confined), ok && named
}
