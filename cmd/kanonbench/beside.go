package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

// quiet is the name of the second rule's only parent.
const quiet = "quiet"

// beside are the phases of a load that measures one parent of a rule while all parents of another rule change
// continuously.
func (r *runner) beside() []step {
	names := namesOf("app", r.load.Parents)
	return []step{r.begin(), {phase: report.Beside, do: func(ctx context.Context) error { return r.changeBeside(ctx, names) }}}
}

// changeBeside measures how long changes of the quiet parent take.
func (r *runner) changeBeside(ctx context.Context, names []string) error {
	if err := r.bring(ctx, append(names, quiet)...); err != nil {
		return err
	}
	err := r.measure(ctx, report.Beside, r.load.Parents, func(before reading) ([]report.Value, error) {
		var times, answers []float64
		group, churning := errgroup.WithContext(ctx)
		enough := make(chan struct{})
		group.Go(func() error { return r.churn(churning, names, enough) })
		group.Go(func() error {
			defer close(enough)
			for i := range r.singles {
				took, answered, err := r.changeOne(churning, fmt.Sprint(i+2))
				if err != nil {
					return err
				}
				times, answers = append(times, took.Seconds()), append(answers, answered.Seconds())
			}
			return nil
		})
		if err := group.Wait(); err != nil {
			return nil, err
		}
		after, err := r.read(ctx)
		writes := after.Counts.Sub(before.Counts).Writes()
		return []report.Value{
			{Unit: report.Median, Number: report.Quantile(times, 0.5)},
			{Unit: report.Worst, Number: report.Quantile(times, 0.99)},
			{Unit: report.AnswerMedian, Number: report.Quantile(answers, 0.5)},
			{Unit: report.AnswerWorst, Number: report.Quantile(answers, 0.99)},
			{Unit: report.Rate, Number: float64(writes) / after.at.Sub(before.at).Seconds()},
		}, err
	})
	if err != nil {
		return err
	}
	if err := r.take(ctx, append(names, quiet)...); err != nil {
		return err
	}
	_, err = r.settle(ctx)
	return err
}

// churn changes all parents, again and again, each time the engine has converged, until enough is closed.
func (r *runner) churn(ctx context.Context, names []string, enough <-chan struct{}) error {
	for revision := 2; ; revision++ {
		select {
		case <-enough:
			return nil
		default:
		}
		text := fmt.Sprint(revision)
		done := r.world.Expect(names, r.load.converged(text))
		if err := r.world.Change(ctx, names, text); err != nil {
			return err
		}
		if _, err := done.Wait(ctx); err != nil {
			return err
		}
	}
}

// changeOne changes the quiet parent. took is the time until the change shows in its children, and answered the time
// until the API server has answered the change itself.
func (r *runner) changeOne(ctx context.Context, revision string) (took, answered time.Duration, err error) {
	begun := time.Now()
	done := r.world.Expect([]string{quiet}, r.load.converged(revision))
	if err := r.world.Change(ctx, []string{quiet}, revision); err != nil {
		return 0, 0, err
	}
	answered = time.Since(begun)
	at, err := done.Wait(ctx)
	return at.Sub(begun), answered, err
}
