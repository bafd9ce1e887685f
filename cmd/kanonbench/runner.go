package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"kanon.dev/kanon/cmd/kanonbench/internal/plane"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

// runner measures one engine with one load.
type runner struct {
	plane   *plane.Plane
	world   *plane.World
	engine  engine
	load    load
	singles int
	restFor time.Duration
	log     io.Writer // the engine's standard error

	process *plane.Process // nil: not running
	empty   int64          // resident bytes without any parent
	samples []report.Sample
}

// step is a phase and how to measure it.
type step struct {
	phase report.Phase
	do    func(context.Context) error
	// together is true if all engines run it at the same time, and not in turns.
	together bool
}

// do runs a step, with a time limit.
func (r *runner) do(ctx context.Context, s step) error {
	limit := 3*time.Minute + r.restFor + time.Duration(r.load.Parents*max(1, r.load.Children)+r.load.Size/1000)*50*time.Millisecond
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it takes longer than %s", limit))
	defer cancel()
	if err := s.do(ctx); err != nil {
		return fmt.Errorf("%s, phase %s: %w", r.engine.name, s.phase, err)
	}
	return nil
}

// inOrder runs steps, one after the other.
func (r *runner) inOrder(ctx context.Context, steps []step) error {
	for _, s := range steps {
		if err := r.do(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// start starts the engine.
func (r *runner) start() error {
	started, err := plane.StartProcess(plane.ProcessOptions{Stderr: r.log}, r.engine.program, r.engine.args...)
	if err != nil {
		return err
	}
	r.process = started
	return nil
}

// stop stops the engine, if it is running.
func (r *runner) stop() error {
	if r.process == nil {
		return nil
	}
	err := r.process.Stop()
	r.process = nil
	if err != nil {
		return fmt.Errorf("stop %s: %w", r.engine.name, err)
	}
	return nil
}

// bring creates parents and waits until they have converged.
func (r *runner) bring(ctx context.Context, names ...string) error {
	done := r.world.Expect(names, r.load.converged(firstRevision))
	if err := r.world.Create(ctx, names, firstRevision, r.load.extra()); err != nil {
		return err
	}
	_, err := done.Wait(ctx)
	return err
}

// take deletes parents and waits until nothing is left of them.
func (r *runner) take(ctx context.Context, names ...string) error {
	done := r.world.Expect(names, r.load.gone())
	if err := r.world.Delete(ctx, names); err != nil {
		return err
	}
	_, err := done.Wait(ctx)
	return err
}

// namesOf makes n names.
func namesOf(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%05d", prefix, i)
	}
	return names
}
