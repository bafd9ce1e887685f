package telemetry

import (
	"context"
	"sync/atomic"
	"time"
)

// Counts receives the figures. Its methods are called concurrently and must not block. Rules are named
// namespace/name.
type Counts interface {
	// Reconciled counts a reconcile of a rule.
	Reconciled(rule string, r Reconcile)
	// Wrote counts a request that changes an object; rule is empty for Kanon's own.
	Wrote(rule string, w Write)
	// Watched counts a list or watch that an informer began; resource is RESOURCE.GROUP.
	Watched(resource, verb string)
}

// Reconcile has the figures of one reconcile.
type Reconcile struct {
	Verdict string
	Took    time.Duration
	// Writes counts the requests that change objects.
	Writes int
	// Cost is the cost of its expressions, in CEL's units.
	Cost uint64
	// Exceeded is the option whose limit the evaluation exceeded last, such as max-reconcile-cost; empty if none.
	Exceeded string
}

// Write is one request that changes an object.
type Write struct {
	// Resource is RESOURCE.GROUP.
	Resource string
	Verb     Verb
	// Result is the API server's reason for refusing the request, such as Conflict, or Success.
	Result string
}

// Work counts one reconcile. The methods of a nil Work do nothing.
type Work struct {
	counts Counts
	rule   string
	began  time.Time
	writes atomic.Int64
	// cost and exceeded are those of the evaluations; only one goroutine evaluates.
	cost     uint64
	exceeded string
}

// Begin begins to count a reconcile of a rule.
func Begin(rule string, counts Counts) *Work {
	if counts == nil {
		return nil
	}
	return &Work{counts: counts, rule: rule, began: time.Now()}
}

// Evaluated adds an evaluation; see Reconcile. Only the goroutine of the reconcile itself may call it.
func (w *Work) Evaluated(cost uint64, exceeded string) {
	if w == nil {
		return
	}
	w.cost += cost
	if exceeded != "" {
		w.exceeded = exceeded
	}
}

// End passes the figures of the reconcile to Counts.
func (w *Work) End(verdict string) {
	if w == nil {
		return
	}
	w.counts.Reconciled(w.rule, Reconcile{
		Verdict: verdict, Took: time.Since(w.began), Writes: int(w.writes.Load()), Cost: w.cost, Exceeded: w.exceeded,
	})
}

type workKey struct{}

// NewContext returns a context whose writes count for a Work.
func NewContext(ctx context.Context, w *Work) context.Context {
	if w == nil {
		return ctx
	}
	return context.WithValue(ctx, workKey{}, w)
}

// FromContext returns the Work of a context, or nil.
func FromContext(ctx context.Context) *Work {
	w, _ := ctx.Value(workKey{}).(*Work)
	return w
}
