package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
	"kanon.dev/kanon/cmd/kanonbench/internal/plane"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

// warmUp is how many parents an engine has, at the most, before it is measured: the API
// server is slower at first.
const warmUp = 50

// turns are the phases of one engine in a round, to be taken one by one.
type turns struct {
	*runner
	site  *site
	log   *os.File
	steps []step
}

// round measures each engine once. The engines take turns in every phase, because a
// machine is not as fast now as it will be in five minutes; which is the first changes, so
// that none always comes after the same other. Each has a control plane of its own all
// the while: one that has been at work for another is slower.
func (b *benchmark) round(ctx context.Context, l load, n int) (err error) {
	var all []*turns
	defer func() {
		for _, t := range all {
			err = errors.Join(err, t.close())
		}
	}()
	for _, name := range b.engines() {
		b.sayOf(n, l, "start "+name)
		t, err := b.prepare(ctx, name, l)
		if err != nil {
			return fmt.Errorf("prepare %s: %w", name, err)
		}
		all = append(all, t)
	}
	for i, s := range all[0].steps { // the same phases for all
		for j := range all {
			t := all[(n+i+j)%len(all)]
			b.sayOf(n, l, fmt.Sprintf("%s, phase %s", t.engine.name, s.phase))
			if err := t.do(ctx, t.steps[i]); err != nil {
				return err
			}
		}
		for _, t := range all {
			b.results.Samples = append(b.results.Samples, t.samples...)
			t.samples = nil
		}
	}
	return nil
}

// prepare starts a control plane for an engine, and has it warm up there.
func (b *benchmark) prepare(ctx context.Context, name string, l load) (t *turns, err error) {
	dir := filepath.Join(b.dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	rules := filepath.Join(dir, "rules.yaml")
	if err := os.WriteFile(rules, []byte(app.Rules(l.watched, l.extra() > 0, l.Size)), 0o600); err != nil {
		return nil, fmt.Errorf("write rules: %w", err)
	}
	e, err := newEngine(name, &b.options, plane.EngineKubeconfig(dir), rules, l)
	if err != nil {
		return nil, err
	}
	t = new(turns)
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	if t.log, err = os.OpenFile(filepath.Join(dir, "engine.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	if t.site, err = openSite(ctx, b.options.ControlPlane, dir, l.watched); err != nil {
		return nil, err
	}
	b.note(report.Circumstance{Key: report.KeyKubernetes, Value: t.site.plane.Version})
	t.site.world.Kinds(l.kindOf)
	few := l
	few.Parents = min(warmUp, l.Parents)
	t.runner = &runner{plane: t.site.plane, world: t.site.world, engine: e, load: few, log: t.log}
	if err := errors.Join(t.inOrder(ctx, t.warmUp()), t.stop()); err != nil {
		return nil, fmt.Errorf("warm up: %w", err)
	}
	t.runner = &runner{
		plane: t.site.plane, world: t.site.world, engine: e, load: l, log: t.log,
		singles: b.options.Singles, restFor: b.options.Rest,
	}
	t.steps = l.plan(t.runner)
	return t, nil
}

// close ends the engine and its control plane, as far as they run.
func (t *turns) close() (err error) {
	if t.runner != nil {
		err = t.stop()
	}
	if t.site != nil {
		err = errors.Join(err, t.site.close())
	}
	if t.log != nil {
		err = errors.Join(err, t.log.Close())
	}
	return err
}

// engines are the names of the engines that are wanted.
func (b *benchmark) engines() []string {
	if len(b.options.Engines) == 0 {
		return engineNames()
	}
	return slices.DeleteFunc(engineNames(), func(name string) bool { return !slices.Contains(b.options.Engines, name) })
}

// note keeps a circumstance of the run, once.
func (b *benchmark) note(c report.Circumstance) {
	if !slices.Contains(b.results.Circumstances, c) {
		b.results.Circumstances = append(b.results.Circumstances, c)
	}
}

// sayOf says what is done in a round.
func (b *benchmark) sayOf(round int, l load, what string) {
	b.say(fmt.Sprintf("%s, round %d of %d: %s", report.TitleOf(l.Load), round+1, b.options.Rounds, what))
}
