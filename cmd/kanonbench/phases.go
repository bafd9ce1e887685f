package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"kanon.dev/kanon/cmd/kanonbench/internal/process"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
	"kanon.dev/kanon/cmd/kanonbench/internal/world"
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
	if r.load.Patch != "" {
		return []step{r.begin(), r.create(names), r.change(names), r.remove(names)}
	}
	return slices.Concat([]step{r.begin()}, r.writing(names), []step{r.remove(names)})
}

// patches are the phases in which parents patch existing objects.
func (r *runner) patches() []step {
	names := namesOf("app", r.load.Parents)
	return []step{
		r.begin(), r.create(names), r.change(names), r.idle(),
		{phase: report.Restart, do: r.restart},
		{phase: report.One, do: r.oneByOne},
		r.remove(append(namesOf("single", r.singles), names...)),
	}
}

// memory are the phases that show the memory of an engine.
func (r *runner) memory() []step {
	names := namesOf("app", r.load.Parents)
	return []step{r.begin(), r.create(names), r.idle(), {phase: report.Restart, do: r.restart}, r.remove(names)}
}

// writing are the phases in which children are created and changed.
func (r *runner) writing(names []string) []step {
	half := make([]string, 0, len(names)/2)
	for i := 1; i < len(names); i += 2 {
		half = append(half, names[i])
	}
	return []step{
		r.create(names),
		r.change(names),
		{phase: report.Drift, do: func(ctx context.Context) error {
			return r.timed(ctx, report.Drift, half, world.Repaired(secondRevision, r.load.extra()), func() error {
				return errors.Join(r.world.Spoil(ctx, half), r.tell())
			})
		}},
	}
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
		}, report.Value{Unit: report.Empty, Number: float64(r.empty)})
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
		usage, err := process.Read(r.process.PID())
		r.empty = usage.Resident
		return err
	}}
}

// timed measures the time from cause until all named parents have reached a goal, and the cost until the engine is idle
// again.
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
	after, err := r.settle(ctx)
	if err != nil {
		return err
	}
	values := append([]report.Value{{Unit: report.Time, Number: at.Sub(begun).Seconds()}}, more...)
	r.add(phase, append(values, between(before, after, len(names))...))
	return nil
}

// idle is the phase in which nothing happens. All engines have it at the same time.
func (r *runner) idle() step { return step{phase: report.Rest, do: r.rest, together: true} }

// rest measures an idle engine.
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
	counts := after.Counts.Sub(before.Counts)
	perMinute := after.at.Sub(before.at).Minutes()
	r.add(report.Rest, append([]report.Value{
		{Unit: report.Requests, Number: float64(counts.Writes()+counts.Reads()) / perMinute},
		{Unit: report.CPUMinute, Number: (after.engine - before.engine).Seconds() / perMinute},
		{Unit: report.Resident, Number: float64(usage.Resident)},
		{Unit: report.Peak, Number: float64(usage.Peak)},
	}, between(before, after, r.load.Parents)...))
	return nil
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
		at = settled // it may reconcile other parents after the canary
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
			values[i].Number -= float64(r.load.writesOfOne(r.engine.name))
		}
	}
	r.add(report.Restart, append([]report.Value{
		{Unit: report.Time, Number: at.Sub(begun).Seconds()},
		{Unit: report.Resident, Number: float64(usage.Resident)},
		{Unit: report.Peak, Number: float64(usage.Peak)},
		{Unit: report.PerParent, Number: float64(usage.Resident-r.empty) / float64(r.load.Parents)},
	}, values...))
	if err := r.take(ctx, canary); err != nil {
		return err
	}
	_, err = r.settle(ctx)
	return err
}

// oneByOne measures how long one new parent takes when nothing else happens, from before its creation until its status
// is visible.
func (r *runner) oneByOne(ctx context.Context) error {
	before, err := r.read(ctx)
	if err != nil {
		return err
	}
	var times []float64
	for _, name := range namesOf("single", r.singles) {
		begun := time.Now()
		done := r.world.Expect([]string{name}, r.load.converged(r.load.afterChange()))
		if err := r.world.Create(ctx, []string{name}, firstRevision, r.load.extra()); err != nil {
			return err
		}
		at, err := done.Wait(ctx)
		if err != nil {
			return err
		}
		times = append(times, at.Sub(begun).Seconds())
	}
	after, err := r.settle(ctx)
	if err != nil {
		return err
	}
	r.add(report.One, append([]report.Value{
		{Unit: report.Median, Number: report.Quantile(times, 0.5)},
		{Unit: report.Worst, Number: report.Quantile(times, 0.99)},
	}, between(before, after, r.singles)...))
	return nil
}
