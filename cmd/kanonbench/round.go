package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
	"kanon.dev/kanon/cmd/kanonbench/internal/plane"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

// firstParents is the maximum number of parents in the warm-up. It is needed because the API server is slower at first.
const firstParents = 50

// contender is one engine in a round, with its phases.
type contender struct {
	*runner
	plane   *plane.Plane
	unwatch func() error
	logs    []*os.File
	steps   []step
}

// round measures each engine once. The engines take turns in every phase, because the speed of a machine changes within
// minutes. Each keeps its own control plane, because one that has served another engine is slower.
func (b *benchmark) round(ctx context.Context, l load, n int) (err error) {
	var all []*contender
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.close())
		}
	}()
	for _, name := range b.options.engines() {
		b.sayOf(n, l, "start "+name)
		c, err := b.prepare(ctx, name, l)
		if err != nil {
			return fmt.Errorf("prepare %s: %w", name, err)
		}
		all = append(all, c)
	}
	for i, s := range all[0].steps { // all have the same phases
		b.sayOf(n, l, "phase "+string(s.phase))
		if err := phase(ctx, inTurn(all, n+i), i); err != nil {
			return err
		}
		for _, c := range all {
			b.results.Samples = append(b.results.Samples, c.samples...)
			c.samples = nil
		}
	}
	return nil
}

// phase runs the i-th step of all contenders.
func phase(ctx context.Context, all []*contender, i int) error {
	together, taken := errgroup.WithContext(ctx)
	if !all[0].steps[i].together {
		together.SetLimit(1) // one after the other
	}
	for _, c := range all {
		together.Go(func() error {
			if err := context.Cause(taken); err != nil {
				return err // another contender has failed, and Wait returns its error
			}
			return c.do(taken, c.steps[i])
		})
	}
	return together.Wait()
}

// inTurn is the order of the n-th turn. Each time, another engine is first, and the order of the others changes too.
func inTurn(all []*contender, n int) []*contender {
	start := n % len(all)
	order := slices.Concat(all[start:], all[:start])
	if n/len(all)%2 == 1 {
		slices.Reverse(order[1:])
	}
	return order
}

// prepare starts a control plane for an engine, and warms both up.
func (b *benchmark) prepare(ctx context.Context, name string, l load) (_ *contender, err error) {
	dir := filepath.Join(b.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	rules := filepath.Join(dir, "rules.yaml")
	text, err := l.rules()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write rules: %w", err)
	}
	e, err := newEngine(name, &b.options, plane.EngineKubeconfig(dir), rules, l)
	if err != nil {
		return nil, err
	}
	c := &contender{}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	log, err := c.openLog(dir, "engine.log")
	if err != nil {
		return nil, err
	}
	controlPlaneLog, err := c.openLog(dir, "controlplane.log")
	if err != nil {
		return nil, err
	}
	if c.plane, err = plane.Start(ctx, plane.Options{Binary: b.options.ControlPlane, Dir: dir, Log: controlPlaneLog}); err != nil {
		return nil, err
	}
	b.note(report.Circumstance{Key: report.KeyKubernetes, Value: c.plane.Version})
	world, err := plane.NewWorld(c.plane.Config, plane.Namespace)
	if err != nil {
		return nil, err
	}
	if err := c.plane.Define(ctx, l.watched); err != nil {
		return nil, err
	}
	if c.unwatch, err = world.Watch(ctx, l.watched); err != nil {
		return nil, err
	}
	world.Kinds(l.kindOf)
	world.Patches(app.Patch(l.Patch))
	few := l
	few.Parents = min(firstParents, l.Parents)
	c.runner = &runner{plane: c.plane, world: world, engine: e, load: few, log: log}
	if err := errors.Join(c.inOrder(ctx, c.warmUp()), c.stop()); err != nil {
		return nil, fmt.Errorf("warm up: %w", err)
	}
	c.runner = &runner{
		plane: c.plane, world: world, engine: e, load: l, log: log,
		singles: b.options.Singles, restFor: b.options.Rest,
	}
	c.steps = l.plan(c.runner)
	return c, nil
}

// openLog makes a log, which close closes.
func (c *contender) openLog(dir, name string) (*os.File, error) {
	log, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	c.logs = append(c.logs, log)
	return log, nil
}

// close stops the engine, the watches and the control plane, as far as they run.
func (c *contender) close() (err error) {
	if c.runner != nil {
		err = c.stop()
	}
	if c.unwatch != nil {
		err = errors.Join(err, c.unwatch())
	}
	if c.plane != nil {
		err = errors.Join(err, c.plane.Stop())
	}
	for _, log := range c.logs {
		err = errors.Join(err, log.Close())
	}
	return err
}

// note records a circumstance of the run, once.
func (b *benchmark) note(c report.Circumstance) {
	if !slices.Contains(b.results.Circumstances, c) {
		b.results.Circumstances = append(b.results.Circumstances, c)
	}
}

// sayOf prints what is done in a round.
func (b *benchmark) sayOf(round int, l load, what string) {
	b.say(fmt.Sprintf("%s, round %d of %d: %s", report.TitleOf(l.Load), round+1, b.options.Rounds, what))
}
