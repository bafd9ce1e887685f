package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// controlPlaneVariable names the environment variable with the path of a control
// plane binary, as for the tests.
const controlPlaneVariable = "KANON_CONTROLPLANE"

// Options are the settings of a benchmark.
type Options struct {
	// Kanon and ControlPlane are the paths of the programs, built.
	Kanon, ControlPlane string
	// KanonArgs are further arguments of `kanon run`.
	KanonArgs []string
	// Parents are the numbers of parents, each measured by itself.
	Parents []int
	// Extra is the number of children of a parent beyond the three.
	Extra int
	// Rounds is how often each engine is measured.
	Rounds int
	// Singles is how many parents are created one by one.
	Singles int
	// Rest is how long engines are watched at rest.
	Rest time.Duration
	// Engines are the names of those to measure. Empty: all.
	Engines []string
	// Out is the file for the results. Empty: none.
	Out string
	// Logs is the directory for what the programs say. Empty: a temporary one that
	// is removed when all went well.
	Logs string
}

func (o *Options) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	controlPlane := os.Getenv(controlPlaneVariable)
	if controlPlane == "" {
		controlPlane = "bin/controlplane"
	}
	flags.StringVar(&o.Kanon, "kanon", "bin/kanon", "the program kanon")
	flags.StringVar(&o.ControlPlane, "controlplane", controlPlane, "the program controlplane")
	flags.StringArrayVar(&o.KanonArgs, "kanon-arg", nil, "further argument of kanon run, such as --pprof=127.0.0.1:6060; repeatable")
	flags.IntSliceVar(&o.Parents, "parents", []int{1000}, "numbers of parents, each measured by itself")
	flags.IntVar(&o.Extra, "extra", 0, "children of each parent beyond a ConfigMap, a Service and a Deployment")
	flags.IntVar(&o.Rounds, "rounds", 5, "how often each engine is measured")
	flags.IntVar(&o.Singles, "singles", 200, "how many parents are created one by one")
	flags.DurationVar(&o.Rest, "rest", 30*time.Second, "how long engines are watched at rest")
	flags.StringSliceVar(&o.Engines, "engines", nil, "engines to measure: operator, loop, kanon (default: all)")
	flags.StringVar(&o.Out, "out", "", "write the results to this file, for benchstat and for `kanonbench page`")
	flags.StringVar(&o.Logs, "logs", "", "keep what the programs say in this directory")
}

// validate finds what is wrong with the options by themselves.
func (o *Options) validate() error {
	var errs []error
	if len(o.Parents) == 0 {
		errs = append(errs, errors.New("--parents must name a number at least"))
	}
	for _, n := range o.Parents {
		if n < 2 {
			errs = append(errs, fmt.Errorf("--parents must be at least 2, not %d", n))
		}
	}
	for name, n := range map[string]int{"--rounds": o.Rounds, "--singles": o.Singles} {
		if n < 1 {
			errs = append(errs, fmt.Errorf("%s must be at least 1, not %d", name, n))
		}
	}
	if o.Extra < 0 {
		errs = append(errs, fmt.Errorf("--extra must not be negative, is %d", o.Extra))
	}
	if o.Rest <= 0 {
		errs = append(errs, fmt.Errorf("--rest must be longer than 0, is %s", o.Rest))
	}
	for name, path := range map[string]string{"--kanon": o.Kanon, "--controlplane": o.ControlPlane} {
		if _, err := os.Stat(path); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
