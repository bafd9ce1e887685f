package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
	"kanon.dev/kanon/cmd/kanonbench/internal/plane"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

// warmUp is how many parents an engine has, at the most, before it is measured: the API
// server is slower at first.
const warmUp = 50

func newRunCommand() *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Measure, and print the table",
		Long: `Measure the operator by hand, the bare loop and Kanon in turns, each on a control plane
that is started for it, and print the table. What was measured is kept when it is
broken off.

The loads, each given as NAME=PARENTS:

  plain   each parent has a ConfigMap, a Service and a Deployment
  wide    17 ConfigMaps more
  kinds   as plain, with parents of 50 kinds and a rule for each
  large   as plain, with a ConfigMap of 1 MB; only what tells of memory
  beside  all parents change again and again; measured is a change of one parent
          of another rule`,
		Example: `  kanonbench run --out bench.txt
  kanonbench run --load plain=1000,plain=5000 --rounds 3 --out growth.txt
  kanonbench run --load beside=5000 --engines operator,kanon
  kanonbench run --load plain=2000 --engines kanon --kanon-arg --pprof=127.0.0.1:6060`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			b := &benchmark{options: o, out: cmd.OutOrStdout(), progress: cmd.ErrOrStderr()}
			return b.run(cmd.Context())
		},
	}
	o.addFlags(cmd)
	return cmd
}

// benchmark is a whole run: all loads, rounds and engines.
type benchmark struct {
	options  Options
	out      io.Writer // the table
	progress io.Writer

	dir     string
	results report.Run
}

// run measures everything and shows it. What was measured before an error is kept.
func (b *benchmark) run(ctx context.Context) (err error) {
	ctrllog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if b.results.Circumstances, err = circumstances(ctx, b.options.Kanon); err != nil {
		return err
	}
	remove, err := b.makeDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove(err == nil)) }()
	return errors.Join(b.measure(ctx), b.show())
}

// makeDir makes the directory for logs and other files, and returns how to remove
// it; one that the user chose, and one with logs of what failed, stay.
func (b *benchmark) makeDir() (remove func(success bool) error, err error) {
	if b.dir = b.options.Logs; b.dir != "" {
		if err := os.MkdirAll(b.dir, 0o755); err != nil {
			return nil, fmt.Errorf("make directory for logs: %w", err)
		}
		return func(bool) error { return nil }, nil
	}
	if b.dir, err = os.MkdirTemp("", "kanonbench-"); err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	return func(success bool) error {
		if !success {
			b.say("what the programs said is in " + b.dir)
			return nil
		}
		if err := os.RemoveAll(b.dir); err != nil {
			return fmt.Errorf("remove directory: %w", err)
		}
		return nil
	}, nil
}

// measure measures all engines under all loads.
func (b *benchmark) measure(ctx context.Context) error {
	loads, err := b.options.loads()
	if err != nil {
		return err
	}
	for _, l := range loads {
		if err := b.measureLoad(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// measureLoad measures all engines in turns. Which is the first changes with the
// round, so that none always comes after the same other.
func (b *benchmark) measureLoad(ctx context.Context, l load) error {
	all, err := b.enginesFor(l)
	if err != nil {
		return err
	}
	for round := range b.options.Rounds {
		for i := range all {
			e := all[(i+round)%len(all)]
			b.say(fmt.Sprintf("%s, round %d of %d: %s", report.TitleOf(l.Load), round+1, b.options.Rounds, e.name))
			samples, err := b.turn(ctx, e, l)
			if err != nil {
				return fmt.Errorf("measure %s with %s: %w", e.name, report.TitleOf(l.Load), err)
			}
			b.results.Samples = append(b.results.Samples, samples...)
		}
	}
	return nil
}

// enginesFor are the engines that are wanted, for a load.
func (b *benchmark) enginesFor(l load) ([]engine, error) {
	rules := filepath.Join(b.dir, fmt.Sprintf("rules-%d-%d-%d.yaml", l.watched, l.Children, l.Size))
	if err := os.WriteFile(rules, []byte(app.Rules(l.watched, l.extra() > 0, l.Size)), 0o600); err != nil {
		return nil, fmt.Errorf("write rules: %w", err)
	}
	wanted, err := engines(&b.options, plane.EngineKubeconfig(b.dir), rules, l)
	if err != nil {
		return nil, err
	}
	if len(b.options.Engines) > 0 {
		wanted = slices.DeleteFunc(wanted, func(e engine) bool { return !slices.Contains(b.options.Engines, e.name) })
	}
	if len(wanted) == 0 {
		return nil, fmt.Errorf("--engines %v names none of the engines", b.options.Engines)
	}
	return wanted, nil
}

// turn measures one engine once, on a control plane of its own: one that has been at
// work for another is slower.
func (b *benchmark) turn(ctx context.Context, e engine, l load) (samples []report.Sample, err error) {
	log, err := os.OpenFile(filepath.Join(b.dir, e.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	defer log.Close() //nolint:errcheck // a log
	s, err := b.openSite(ctx, l.watched)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	r := &runner{plane: s.plane, world: s.world, engine: e, load: l, log: log}
	r.load.Parents, r.load.measure = min(warmUp, l.Parents), (*runner).warmUp
	if _, err := r.measure(ctx); err != nil {
		return nil, fmt.Errorf("warm up: %w", err)
	}
	r = &runner{plane: s.plane, world: s.world, engine: e, load: l, singles: b.options.Singles, restFor: b.options.Rest, log: log}
	return r.measure(ctx)
}

// show prints the tables and writes the results.
func (b *benchmark) show() error {
	if len(b.results.Samples) == 0 {
		return nil
	}
	if b.options.Out != "" {
		err := writeFile(b.options.Out, func(w io.Writer) error { return report.Write(w, &b.results) })
		if err != nil {
			return err
		}
		b.say("the results are in " + b.options.Out)
	}
	return writeTables(b.out, &b.results)
}

func (b *benchmark) say(what string) {
	_, _ = fmt.Fprintln(b.progress, what) // nobody need be listening
}

// writeFile writes a file anew.
func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("make file: %w", err)
	}
	return errors.Join(write(file), file.Close())
}
