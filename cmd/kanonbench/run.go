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
	"kanon.dev/kanon/cmd/kanonbench/internal/world"
)

// ownChildren is how many children a parent has without extra ones.
const ownChildren = 3

// warmUp is how many parents the first round has that is not counted: the API
// server is slower at first.
const warmUp = 50

func newRunCommand() *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Measure, and print the table",
		Args:  cobra.NoArgs,
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

// benchmark is a whole run: all loads, rounds and engines, on one control plane.
type benchmark struct {
	options  Options
	out      io.Writer // the table
	progress io.Writer

	dir     string
	plane   *plane.Plane
	world   *world.World
	engines []engine
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
	planeLog, err := os.Create(filepath.Join(b.dir, "controlplane.log"))
	if err != nil {
		return fmt.Errorf("make log: %w", err)
	}
	defer planeLog.Close() //nolint:errcheck // a log
	b.say("starting the control plane")
	b.plane, err = plane.Start(ctx, plane.Options{Binary: b.options.ControlPlane, Dir: b.dir, Log: planeLog})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.plane.Stop()) }()
	b.results.Circumstances = append(b.results.Circumstances,
		report.Circumstance{Key: report.KeyKubernetes, Value: b.plane.Version})

	if err := b.prepare(); err != nil {
		return err
	}
	unwatch, err := b.world.Watch(ctx, b.plane.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unwatch()) }()
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

// prepare makes what engines need.
func (b *benchmark) prepare() (err error) {
	rule := filepath.Join(b.dir, "rule.yaml")
	if err := os.WriteFile(rule, []byte(app.Rule(b.options.Extra > 0)), 0o600); err != nil {
		return fmt.Errorf("write rule: %w", err)
	}
	if b.engines, err = engines(&b.options, b.plane.EngineKubeconfig, rule); err != nil {
		return err
	}
	if len(b.options.Engines) > 0 {
		b.engines = slices.DeleteFunc(b.engines, func(e engine) bool { return !slices.Contains(b.options.Engines, e.name) })
	}
	if len(b.engines) == 0 {
		return fmt.Errorf("--engines %v names none of the engines", b.options.Engines)
	}
	b.world, err = world.New(b.plane.Config, plane.Namespace)
	return err
}

// measure measures all engines in turns. Which is the first changes with the
// round, so that none always comes after the same other.
func (b *benchmark) measure(ctx context.Context) error {
	b.say("warming up")
	for _, e := range b.engines {
		if _, err := b.one(ctx, e, warmUp, 1); err != nil {
			return err
		}
	}
	for _, parents := range b.options.Parents {
		for round := range b.options.Rounds {
			for i := range b.engines {
				e := b.engines[(i+round)%len(b.engines)]
				b.say(fmt.Sprintf("%d parents, round %d of %d: %s", parents, round+1, b.options.Rounds, e.name))
				samples, err := b.one(ctx, e, parents, b.options.Singles)
				if err != nil {
					return err
				}
				b.results.Samples = append(b.results.Samples, samples...)
			}
		}
	}
	return nil
}

// one measures one engine once.
func (b *benchmark) one(ctx context.Context, e engine, parents, singles int) ([]report.Sample, error) {
	log, err := os.OpenFile(filepath.Join(b.dir, e.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("make log: %w", err)
	}
	defer log.Close() //nolint:errcheck // a log
	r := &runner{
		plane:   b.plane,
		world:   b.world,
		engine:  e,
		load:    report.Load{Parents: parents, Children: ownChildren + b.options.Extra},
		extra:   b.options.Extra,
		singles: singles,
		restFor: b.options.Rest,
		log:     log,
	}
	if parents == warmUp && singles == 1 {
		r.restFor = 0
	}
	samples, err := r.measure(ctx)
	if err != nil {
		return nil, fmt.Errorf("measure %s with %d parents: %w", e.name, parents, err)
	}
	return samples, nil
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
	return report.WriteTable(b.out, &b.results)
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
