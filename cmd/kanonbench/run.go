package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

func newRunCommand() *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Measure, and print the table",
		Long: `Measure the operator by hand and Kanon, each on a control plane that is started for it,
phase by phase in turns, and print the table. What was measured is kept when it is
broken off.

The loads, each given as NAME=PARENTS:

  plain     each parent has a ConfigMap, a Service and a Deployment
  wide      17 ConfigMaps more
  kinds     as plain, with parents of 50 kinds and a rule for each
  large     as plain, with a ConfigMap of 1 MB; only what tells of memory
  beside    all parents change again and again; measured is a change of one parent
            of another rule
  own       each parent patches a ConfigMap of its own
  shared    all parents patch one ConfigMap
  selected  each parent's patch selects many ConfigMaps`,
		Example: `  kanonbench run --out bench.txt
  kanonbench run --load plain=1000,plain=5000 --rounds 3 --out growth.txt
  kanonbench run --load beside=5000 --engines kanon
  kanonbench run --load plain=2000 --engines kanon --kanon-arg --metrics-bind-address=127.0.0.1:6060 --kanon-arg --metrics-secure=false`,
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

// run measures everything and shows the results. After an error, the results of phases that all engines have completed
// are kept.
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

// makeDir makes the directory for logs and other files. remove removes it, unless the user chose it or it has the logs
// of a failure.
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

// measure measures all engines with all loads.
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

// measureLoad measures all engines with one load, in all rounds.
func (b *benchmark) measureLoad(ctx context.Context, l load) error {
	for n := range b.options.Rounds {
		if err := b.round(ctx, l, n); err != nil {
			return fmt.Errorf("measure with %s: %w", report.TitleOf(l.Load), err)
		}
	}
	return nil
}

// show prints the tables and writes the results.
func (b *benchmark) show() error {
	if len(b.results.Samples) == 0 {
		return nil
	}
	if b.options.Out != "" {
		var text bytes.Buffer
		if err := report.Write(&text, &b.results); err != nil {
			return err
		}
		if err := os.WriteFile(b.options.Out, text.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
		b.say("the results are in " + b.options.Out)
	}
	_, err := fmt.Fprint(b.out, report.Tables(&b.results))
	return err
}

func (b *benchmark) say(what string) {
	_, _ = fmt.Fprintln(b.progress, what) // progress is not essential
}
