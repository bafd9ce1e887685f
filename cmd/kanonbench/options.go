package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// controlPlaneVariable is the environment variable with the path of the control plane binary, as in the tests.
const controlPlaneVariable = "KANON_CONTROLPLANE"

// Options are the settings of a benchmark.
type Options struct {
	// Kanon and ControlPlane are the paths of the built programs.
	Kanon, ControlPlane string
	// KanonArgs are further arguments of `kanon run`.
	KanonArgs []string
	// Loads are the loads, as NAME=PARENTS. Each is measured separately.
	Loads []string
	// Rounds is how often each engine is measured.
	Rounds int
	// Singles is the number of parents that are created, or changed, one by one.
	Singles int
	// Rest is how long idle engines are measured.
	Rest time.Duration
	// Engines are the engines to measure. Empty: all.
	Engines []string
	// Out is the file for the results. Empty: none.
	Out string
	// Logs is the directory for the logs of the programs, with a subdirectory for each engine. Empty: a temporary
	// directory, which is removed after a success.
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
	flags.StringArrayVar(&o.KanonArgs, "kanon-arg", nil, "further argument of kanon run, such as --metrics-bind-address=127.0.0.1:6060; repeatable")
	flags.StringSliceVar(&o.Loads, "load", []string{"plain=1000"}, "loads as NAME=PARENTS, each measured by itself; repeatable")
	flags.IntVar(&o.Rounds, "rounds", 5, "how often each engine is measured")
	flags.IntVar(&o.Singles, "singles", 200, "how many parents are created, or changed, one by one")
	flags.DurationVar(&o.Rest, "rest", 30*time.Second, "how long engines are watched at rest")
	flags.StringSliceVar(&o.Engines, "engines", nil, "engines to measure: operator, kanon (default: both)")
	flags.StringVar(&o.Out, "out", "", "write the results to this file, for benchstat and for `kanonbench table`")
	flags.StringVar(&o.Logs, "logs", "", "keep what the programs say in this directory, with one for each engine")
}

// loads parses the loads.
func (o *Options) loads() ([]load, error) {
	var loads []load
	var errs []error
	for _, text := range o.Loads {
		l, err := parseLoad(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--load: %w", err))
		}
		loads = append(loads, l)
	}
	if len(loads) == 0 {
		errs = append(errs, errors.New("--load must be given once at the least"))
	}
	return loads, errors.Join(errs...)
}

// engines lists the engines to measure.
func (o *Options) engines() []string {
	if len(o.Engines) == 0 {
		return engineNames()
	}
	return slices.DeleteFunc(engineNames(), func(name string) bool { return !slices.Contains(o.Engines, name) })
}

// validate checks the options.
func (o *Options) validate() error {
	var errs []error
	if _, err := o.loads(); err != nil {
		errs = append(errs, err)
	}
	for _, number := range []struct {
		flag  string
		value int
	}{{"--rounds", o.Rounds}, {"--singles", o.Singles}} {
		if number.value < 1 {
			errs = append(errs, fmt.Errorf("%s must be at least 1, not %d", number.flag, number.value))
		}
	}
	if o.Rest <= 0 {
		errs = append(errs, fmt.Errorf("--rest must be longer than 0, is %s", o.Rest))
	}
	for _, name := range o.Engines {
		if !slices.Contains(engineNames(), name) {
			errs = append(errs, fmt.Errorf("--engines: %q is none of %s", name, strings.Join(engineNames(), ", ")))
		}
	}
	for _, program := range []struct{ flag, path string }{{"--kanon", o.Kanon}, {"--controlplane", o.ControlPlane}} {
		if _, err := os.Stat(program.path); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", program.flag, err))
		}
	}
	return errors.Join(errs...)
}
