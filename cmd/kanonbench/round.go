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
	site  *site
	log   *os.File
	steps []step
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
	for _, name := range b.engines(l) {
		b.sayOf(n, l, "start "+name)
		c, err := b.prepare(ctx, name, l)
		if err != nil {
			return fmt.Errorf("prepare %s: %w", name, err)
		}
		all = append(all, c)
	}
	for i, s := range all[0].steps { // all have the same phases
		b.sayOf(n, l, "phase "+string(s.phase))
		if b.began != nil {
			b.began(s.phase)
		}
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
	if c.log, err = os.OpenFile(filepath.Join(dir, "engine.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	if c.site, err = openSite(ctx, b.options.ControlPlane, dir, l.watched); err != nil {
		return nil, err
	}
	b.note(report.Circumstance{Key: report.KeyKubernetes, Value: c.site.plane.Version})
	c.site.world.Kinds(l.kindOf)
	c.site.world.Patches(app.Patch(l.Patch))
	few := l
	few.Parents = min(firstParents, l.Parents)
	c.runner = &runner{plane: c.site.plane, world: c.site.world, engine: e, load: few, log: c.log}
	if err := errors.Join(c.inOrder(ctx, c.warmUp()), c.stop()); err != nil {
		return nil, fmt.Errorf("warm up: %w", err)
	}
	c.runner = &runner{
		plane: c.site.plane, world: c.site.world, engine: e, load: l, log: c.log,
		singles: b.options.Singles, restFor: b.options.Rest,
	}
	c.steps = l.plan(c.runner)
	return c, nil
}

// close stops the engine and its control plane, as far as they run.
func (c *contender) close() (err error) {
	if c.runner != nil {
		err = c.stop()
	}
	if c.site != nil {
		err = errors.Join(err, c.site.close())
	}
	if c.log != nil {
		err = errors.Join(err, c.log.Close())
	}
	return err
}

// engines lists the engines to measure with a load.
func (b *benchmark) engines(l load) []string {
	return slices.DeleteFunc(engineNames(), func(name string) bool { return !b.options.wants(name) || !l.suits(name) })
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
