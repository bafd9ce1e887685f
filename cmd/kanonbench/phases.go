package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kanon.dev/kanon/cmd/kanonbench/internal/process"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
	"kanon.dev/kanon/cmd/kanonbench/internal/world"
)

// The revisions that parents get.
const (
	firstRevision  = "1"
	secondRevision = "2"
)

// canary is a parent by which one sees that an engine works. It comes last in the
// order of names.
const canary = "zz-canary"

// step is a phase and how it is measured.
type step struct {
	phase report.Phase
	do    func() error
}

// all measures one engine in all phases, from an empty cluster to an empty cluster.
func (r *runner) all(ctx context.Context) error {
	names := namesOf("app", r.load.Parents)
	empty, err := r.begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return inOrder(append(r.writing(ctx, names, empty),
		step{report.Rest, func() error { return r.rest(ctx) }},
		step{report.Restart, func() error { return r.restart(ctx, empty) }},
		step{report.One, func() error { return r.oneByOne(ctx) }},
		r.remove(ctx, append(namesOf("single", r.singles), names...)),
	))
}

// warmUp runs the phases in which much is written.
func (r *runner) warmUp(ctx context.Context) error {
	names := namesOf("app", r.load.Parents)
	if _, err := r.begin(ctx); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return inOrder(append(r.writing(ctx, names, 0), r.remove(ctx, names)))
}

// writing are the phases in which children are made and changed.
func (r *runner) writing(ctx context.Context, names []string, empty int64) []step {
	half := make([]string, 0, len(names)/2)
	for i := 1; i < len(names); i += 2 {
		half = append(half, names[i])
	}
	return []step{
		r.create(ctx, names, empty),
		{report.Change, func() error {
			return r.timed(ctx, report.Change, names, world.Converged(secondRevision, r.load.extra()), func() error {
				return r.world.Change(ctx, names, secondRevision)
			})
		}},
		{report.Drift, func() error {
			return r.timed(ctx, report.Drift, half, world.Repaired(secondRevision, r.load.extra()), func() error {
				return errors.Join(r.world.Spoil(ctx, half), r.tell())
			})
		}},
	}
}

// memory measures those phases that tell how much an engine holds.
func (r *runner) memory(ctx context.Context) error {
	names := namesOf("app", r.load.Parents)
	empty, err := r.begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return inOrder([]step{
		r.create(ctx, names, empty),
		{report.Rest, func() error { return r.rest(ctx) }},
		{report.Restart, func() error { return r.restart(ctx, empty) }},
		r.remove(ctx, names),
	})
}

func inOrder(steps []step) error {
	for _, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("phase %s: %w", step.phase, err)
		}
	}
	return nil
}

// create is the phase in which all parents are created.
func (r *runner) create(ctx context.Context, names []string, empty int64) step {
	return step{report.New, func() error {
		return r.timed(ctx, report.New, names, world.Converged(firstRevision, r.load.extra()), func() error {
			return r.world.Create(ctx, names, firstRevision, r.load.extra())
		}, report.Value{Unit: report.Empty, Number: float64(empty)})
	}}
}

// remove is the phase in which all parents are deleted.
func (r *runner) remove(ctx context.Context, names []string) step {
	return step{report.Delete, func() error {
		return r.timed(ctx, report.Delete, names, world.Gone(), func() error { return r.world.Delete(ctx, names) })
	}}
}

// begin starts the engine, waits until it has shown by one parent that it works,
// and returns its memory without any.
func (r *runner) begin(ctx context.Context) (empty int64, err error) {
	if err := r.start(); err != nil {
		return 0, err
	}
	before, err := r.read(ctx)
	if err != nil {
		return 0, err
	}
	if err := r.bring(ctx, canary); err != nil {
		return 0, err
	}
	if err := r.take(ctx, canary); err != nil {
		return 0, err
	}
	if _, err := r.process.Settle(ctx); err != nil {
		return 0, err
	}
	after, err := r.read(ctx)
	if err != nil {
		return 0, err
	}
	if after.counts.Sub(before.counts).Writes() == 0 {
		return 0, errors.New("the API server does not count the engine's requests")
	}
	usage, err := process.Read(r.process.PID())
	return usage.Resident, err
}

// timed measures how long it takes from cause until a goal has come true of all
// parents of some, and what it costs until the engine is at rest again.
func (r *runner) timed(ctx context.Context, phase report.Phase, names []string, goal world.Goal, cause func() error,
	more ...report.Value,
) error {
	before, err := r.read(ctx)
	if err != nil {
		return err
	}
	done := r.world.Expect(names, goal)
	begun := time.Now()
	if err := cause(); err != nil {
		return err
	}
	at, err := done.Wait(ctx)
	if err != nil {
		return err
	}
	if _, err := r.process.Settle(ctx); err != nil {
		return err
	}
	after, err := r.read(ctx)
	if err != nil {
		return err
	}
	values := append([]report.Value{{Unit: report.Time, Number: at.Sub(begun).Seconds()}}, more...)
	r.add(phase, append(values, between(before, after, len(names))...))
	return nil
}

// rest measures what the engine does while nothing happens.
func (r *runner) rest(ctx context.Context) error {
	before, err := r.read(ctx)
	if err != nil {
		return err
	}
	select {
	case <-time.After(r.restFor):
	case <-r.process.Done():
		return r.process.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	usage, err := process.Read(r.process.PID())
	if err != nil {
		return err
	}
	after, err := r.read(ctx)
	if err != nil {
		return err
	}
	counts := after.counts.Sub(before.counts)
	perMinute := after.at.Sub(before.at).Minutes()
	r.add(report.Rest, append([]report.Value{
		{Unit: report.Requests, Number: float64(counts.Writes()+counts.Reads()) / perMinute},
		{Unit: report.CPUMinute, Number: (after.engine - before.engine).Seconds() / perMinute},
		{Unit: report.Resident, Number: float64(usage.Resident)},
		{Unit: report.Peak, Number: float64(usage.Peak)},
	}, between(before, after, r.load.Parents)...))
	return nil
}

// restart measures a start with all in place. A parent that is created while no
// engine runs shows when it serves; the four requests for that one are not
// counted. Its CPU is all that the process has used until it is at rest.
func (r *runner) restart(ctx context.Context, empty int64) error {
	if err := r.stop(); err != nil {
		return err
	}
	done := r.world.Expect([]string{canary}, world.Converged(firstRevision, r.load.extra()))
	if err := r.world.Create(ctx, []string{canary}, firstRevision, r.load.extra()); err != nil {
		return err
	}
	before, err := r.read(ctx)
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := r.start(); err != nil {
		return err
	}
	at, err := done.Wait(ctx)
	if err != nil {
		return err
	}
	settled, err := r.process.Settle(ctx)
	if err != nil {
		return err
	}
	if settled.After(at) {
		at = settled // the last parent that it looks at need not be the canary
	}
	after, err := r.read(ctx)
	if err != nil {
		return err
	}
	usage, err := process.Read(r.process.PID())
	if err != nil {
		return err
	}
	values := between(before, after, r.load.Parents)
	for i := range values {
		if values[i].Unit == report.AllWrites {
			values[i].Number -= float64(r.load.Children + 1)
		}
	}
	r.add(report.Restart, append([]report.Value{
		{Unit: report.Time, Number: at.Sub(begun).Seconds()},
		{Unit: report.Resident, Number: float64(usage.Resident)},
		{Unit: report.PerParent, Number: float64(usage.Resident-empty) / float64(r.load.Parents)},
	}, values...))
	return r.take(ctx, canary)
}

// oneByOne measures how long one new parent takes when there is nothing else to
// do: from before it is created until its status is seen.
func (r *runner) oneByOne(ctx context.Context) error {
	before, err := r.read(ctx)
	if err != nil {
		return err
	}
	var times []float64
	for _, name := range namesOf("single", r.singles) {
		begun := time.Now()
		done := r.world.Expect([]string{name}, world.Converged(firstRevision, r.load.extra()))
		if err := r.world.Create(ctx, []string{name}, firstRevision, r.load.extra()); err != nil {
			return err
		}
		at, err := done.Wait(ctx)
		if err != nil {
			return err
		}
		times = append(times, at.Sub(begun).Seconds())
	}
	if _, err := r.process.Settle(ctx); err != nil {
		return err
	}
	after, err := r.read(ctx)
	if err != nil {
		return err
	}
	r.add(report.One, append([]report.Value{
		{Unit: report.Median, Number: report.Quantile(times, 0.5)},
		{Unit: report.Worst, Number: report.Quantile(times, 0.99)},
	}, between(before, after, r.singles)...))
	return nil
}
