package meter

import (
	"context"
	"sync/atomic"
	"time"
)

// Counts takes what is counted. Its methods are called by many goroutines at once, and must not block. A rule is named as
// namespace/name.
type Counts interface {
	// Reconciled counts a reconcile of a rule.
	Reconciled(rule string, r Reconcile)
	// Wrote counts a request that changes an object; rule is empty for Kanon's own.
	Wrote(rule string, w Write)
	// Watched counts a list or a watch that an informer began; resource is RESOURCE.GROUP.
	Watched(resource, verb string)
}

// Reconcile is what one reconcile took.
type Reconcile struct {
	Verdict string
	Took    time.Duration
	// Writes is how many requests were sent that change objects.
	Writes int
	// Cost is what its expressions cost, in CEL's units.
	Cost uint64
	// Exceeded is the option whose limit the evaluation exceeded last, such as max-reconcile-cost; empty: none.
	Exceeded string
}

// Write is one request that changes an object.
type Write struct {
	// Resource is RESOURCE.GROUP.
	Resource string
	Verb     Verb
	// Result is what the API server's refusal is called, such as Conflict, or Success.
	Result string
}

// Work is one reconcile that is being counted. Methods of nil count nothing.
type Work struct {
	counts Counts
	rule   string
	began  time.Time
	writes atomic.Int64
	// cost and exceeded are those of the evaluations. One goroutine evaluates.
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

// Evaluated adds an evaluation; see Reconcile. The reconcile calls it, and none of what it has running beside it.
func (w *Work) Evaluated(cost uint64, exceeded string) {
	if w == nil {
		return
	}
	w.cost += cost
	if exceeded != "" {
		w.exceeded = exceeded
	}
}

// End counts the reconcile.
func (w *Work) End(verdict string) {
	if w == nil {
		return
	}
	w.counts.Reconciled(w.rule, Reconcile{
		Verdict: verdict, Took: time.Since(w.began), Writes: int(w.writes.Load()), Cost: w.cost, Exceeded: w.exceeded,
	})
}

type workKey struct{}

// NewContext is a context of which all counts for a Work.
func NewContext(ctx context.Context, w *Work) context.Context {
	if w == nil {
		return ctx
	}
	return context.WithValue(ctx, workKey{}, w)
}

// FromContext is the Work of a context; nil: none.
func FromContext(ctx context.Context) *Work {
	w, _ := ctx.Value(workKey{}).(*Work)
	return w
}
