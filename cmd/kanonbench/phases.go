package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"kanon.dev/kanon/cmd/kanonbench/internal/plane"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

// The revisions of parents.
const (
	firstRevision  = "1"
	secondRevision = "2"
)

// canary is a parent that shows that an engine works. It is the last one by name.
const canary = "zz-canary"

// all are all phases, from an empty cluster to an empty cluster.
func (r *runner) all() []step {
	names := namesOf("app", r.load.Parents)
	return slices.Concat([]step{r.begin()}, r.writing(names), []step{
		r.idle(),
		{phase: report.Restart, do: r.restart},
		{phase: report.One, do: r.oneByOne},
		r.remove(append(namesOf("single", r.singles), names...)),
	})
}

// warmUp are the phases with many writes.
func (r *runner) warmUp() []step {
	names := namesOf("app", r.load.Parents)
	return slices.Concat([]step{r.begin()}, r.writing(names), []step{r.remove(names)})
}

// memory are the phases that show the memory of an engine.
func (r *runner) memory() []step {
	names := namesOf("app", r.load.Parents)
	return []step{r.begin(), r.create(names), r.idle(), {phase: report.Restart, do: r.restart}, r.remove(names)}
}

// writing are the phases in which objects are created and changed. Patched objects do not drift.
func (r *runner) writing(names []string) []step {
	steps := []step{r.create(names), r.change(names)}
	if r.load.Patch != "" {
		return steps
	}
	half := make([]string, 0, len(names)/2)
	for i := 1; i < len(names); i += 2 {
		half = append(half, names[i])
	}
	return append(steps, step{phase: report.Drift, do: func(ctx context.Context) error {
		return r.timed(ctx, report.Drift, half, plane.Repaired(secondRevision, r.load.extra()), func() error {
			return r.world.Spoil(ctx, half)
		})
	}})
}

// change is the phase in which all parents get another revision.
func (r *runner) change(names []string) step {
	return step{phase: report.Change, do: func(ctx context.Context) error {
		return r.timed(ctx, report.Change, names, r.load.converged(secondRevision), func() error {
			return r.world.Change(ctx, names, secondRevision)
		})
	}}
}

// create is the phase in which all parents are created.
func (r *runner) create(names []string) step {
	return step{phase: report.New, do: func(ctx context.Context) error {
		return r.timed(ctx, report.New, names, r.load.converged(firstRevision), func() error {
			return r.world.Create(ctx, names, firstRevision, r.load.extra())
		})
	}}
}

// remove is the phase in which all parents are deleted.
func (r *runner) remove(names []string) step {
	return step{phase: report.Delete, do: func(ctx context.Context) error {
		return r.timed(ctx, report.Delete, names, r.load.gone(), func() error { return r.world.Release(ctx, names) })
	}}
}

// begin is the step before the first phase: it starts the engine, and shows with one parent, which it deletes again,
// that the engine works.
func (r *runner) begin() step {
	return step{phase: "Begin", do: func(ctx context.Context) error {
		targets := slices.Concat(namesOf("app", r.load.Parents), namesOf("single", r.singles), []string{canary})
		if err := r.world.Prepare(ctx, targets, firstRevision); err != nil {
			return err
		}
		if err := r.start(); err != nil {
			return err
		}
		before, err := r.read(ctx)
		if err != nil {
			return err
		}
		if err := r.bring(ctx, canary); err != nil {
			return err
		}
		if err := r.take(ctx, canary); err != nil {
			return err
		}
		after, err := r.settle(ctx)
		if err != nil {
			return err
		}
		if after.Counts.Sub(before.Counts).Writes() == 0 {
			return errors.New("the API server does not count the engine's requests")
		}
		usage, err := plane.ReadUsage(r.process.PID())
		r.empty = usage.Resident
		return err
	}}
}

// measure runs a phase for n parents, waits until the engine is idle, and adds what the meters show to the values of the
// phase.
func (r *runner) measure(ctx context.Context, phase report.Phase, n int, do func(before reading) ([]report.Value, error)) error {
	before, err := r.read(ctx)
	if err != nil {
		return err
	}
	values, err := do(before)
	if err != nil {
		return err
	}
	after, err := r.settle(ctx)
	if err != nil {
		return err
	}
	values = append(values, between(before, after, n)...)
	r.samples = append(r.samples, report.Sample{Phase: phase, Engine: r.engine.name, Load: r.load.Load, Values: values})
	return nil
}

// timed measures the time from cause until all named parents have reached a goal, and the cost until the engine is idle
// again.
func (r *runner) timed(ctx context.Context, phase report.Phase, names []string, goal plane.Goal, cause func() error) error {
	return r.measure(ctx, phase, len(names), func(reading) ([]report.Value, error) {
		done := r.world.Expect(names, goal)
		begun := time.Now()
		if err := cause(); err != nil {
			return nil, err
		}
		at, err := done.Wait(ctx)
		values := []report.Value{{Unit: report.Time, Number: at.Sub(begun).Seconds()}}
		if phase == report.New {
			values = append(values, report.Value{Unit: report.Empty, Number: float64(r.empty)})
		}
		return values, err
	})
}

// idle is the phase in which nothing happens. All engines have it at the same time.
func (r *runner) idle() step { return step{phase: report.Rest, do: r.rest, together: true} }

// rest measures an idle engine.
func (r *runner) rest(ctx context.Context) error {
	return r.measure(ctx, report.Rest, r.load.Parents, func(before reading) ([]report.Value, error) {
		select {
		case <-time.After(r.restFor):
		case <-r.process.Done():
			return nil, r.process.Err()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		usage, err := plane.ReadUsage(r.process.PID())
		if err != nil {
			return nil, err
		}
		after, err := r.read(ctx)
		counts := after.Counts.Sub(before.Counts)
		perMinute := after.at.Sub(before.at).Minutes()
		return []report.Value{
			{Unit: report.Requests, Number: float64(counts.Writes()+counts.Reads()) / perMinute},
			{Unit: report.CPUMinute, Number: (after.engine - before.engine).Seconds() / perMinute},
			{Unit: report.Resident, Number: float64(usage.Resident)},
			{Unit: report.Peak, Number: float64(usage.Peak)},
		}, err
	})
}

// restart measures a start with all parents in place. A parent that is created while the engine is down shows when the
// engine serves; the writes for it are not counted. CPU is the CPU time of the process until it is idle.
func (r *runner) restart(ctx context.Context) error {
	if err := r.stop(); err != nil {
		return err
	}
	done := r.world.Expect([]string{canary}, r.load.converged(r.load.afterChange()))
	if err := r.world.Create(ctx, []string{canary}, firstRevision, r.load.extra()); err != nil {
		return err
	}
	err := r.measure(ctx, report.Restart, r.load.Parents, func(reading) ([]report.Value, error) {
		begun := time.Now()
		if err := r.start(); err != nil {
			return nil, err
		}
		at, err := done.Wait(ctx)
		if err != nil {
			return nil, err
		}
		settled, err := r.process.Settle(ctx)
		if err != nil {
			return nil, err
		}
		if settled.After(at) {
			at = settled // it may reconcile other parents after the canary
		}
		usage, err := plane.ReadUsage(r.process.PID())
		return []report.Value{
			{Unit: report.Time, Number: at.Sub(begun).Seconds()},
			{Unit: report.Resident, Number: float64(usage.Resident)},
			{Unit: report.Peak, Number: float64(usage.Peak)},
			{Unit: report.PerParent, Number: float64(usage.Resident-r.empty) / float64(r.load.Parents)},
		}, err
	})
	if err != nil {
		return err
	}
	values := r.samples[len(r.samples)-1].Values
	for i := range values {
		if values[i].Unit == report.AllWrites {
			values[i].Number -= float64(r.load.writesOfOne(r.engine.name))
		}
	}
	if err := r.take(ctx, canary); err != nil {
		return err
	}
	_, err = r.settle(ctx)
	return err
}

// oneByOne measures how long one new parent takes when nothing else happens, from before its creation until its status
// is visible.
func (r *runner) oneByOne(ctx context.Context) error {
	return r.measure(ctx, report.One, r.singles, func(reading) ([]report.Value, error) {
		var times []float64
		for _, name := range namesOf("single", r.singles) {
			begun := time.Now()
			done := r.world.Expect([]string{name}, r.load.converged(r.load.afterChange()))
			if err := r.world.Create(ctx, []string{name}, firstRevision, r.load.extra()); err != nil {
				return nil, err
			}
			at, err := done.Wait(ctx)
			if err != nil {
				return nil, err
			}
			times = append(times, at.Sub(begun).Seconds())
		}
		return []report.Value{
			{Unit: report.Median, Number: report.Quantile(times, 0.5)},
			{Unit: report.Worst, Number: report.Quantile(times, 0.99)},
		}, nil
	})
}
