package main

import (
	"context"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
	"kanon.dev/kanon/cmd/kanonbench/internal/loop"
	"kanon.dev/kanon/cmd/kanonbench/internal/operator"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

// workers is the number of parents that each engine reconciles concurrently.
const workers = 16

// engine is a program that does the work.
type engine struct {
	name    string
	program string
	args    []string
	// told is true for an engine that does not watch children, and reconciles all parents only on request.
	told bool
}

// engineNames lists all engines.
func engineNames() []string { return []string{report.Operator, report.Loop, report.Kanon} }

// newEngine is an engine for a load, with its rules. The operator and the loop are this program itself.
func newEngine(name string, o *Options, kubeconfig, rules string, l load) (engine, error) {
	if name == report.Kanon {
		args := []string{
			"run", "--kubeconfig=" + kubeconfig, "--rules=" + rules, fmt.Sprintf("--workers=%d", workers),
			"--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0", // free ports: other engines run too
		}
		return engine{name: name, program: o.Kanon, args: append(args, o.KanonArgs...)}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return engine{}, fmt.Errorf("find this program: %w", err)
	}
	args := []string{
		name, "--kubeconfig=" + kubeconfig, fmt.Sprintf("--kinds=%d", l.watched), fmt.Sprintf("--size=%d", l.Size), "--patch=" + l.Patch,
	}
	return engine{name: name, program: self, args: args, told: name == report.Loop}, nil
}

func newOperatorCommand() *cobra.Command {
	return newEngineCommand("operator", "Run the operator that Kanon is compared with",
		func(ctx context.Context, config *rest.Config, w work) error {
			return operator.Run(ctx, config, operator.Options{Workers: workers, Kinds: w.kinds, Size: w.size, Patch: app.Patch(w.patch)})
		})
}

func newLoopCommand() *cobra.Command {
	return newEngineCommand("loop", "Run the bare loop that Kanon is compared with",
		func(ctx context.Context, config *rest.Config, w work) error {
			return loop.Run(ctx, config, os.Stdin, loop.Options{Workers: workers, Kinds: w.kinds, Size: w.size})
		})
}

// work is what an engine of this program has to do.
type work struct {
	kinds, size int
	patch       string
}

// newEngineCommand makes the command that runs an engine of this program.
func newEngineCommand(name, short string, run func(context.Context, *rest.Config, work) error) *cobra.Command {
	var kubeconfig string
	var w work
	cmd := &cobra.Command{
		Use:    name + " --kubeconfig FILE",
		Short:  short,
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := engineConfig(kubeconfig)
			if err != nil {
				return err
			}
			return run(cmd.Context(), config, w)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file")
	cmd.Flags().IntVar(&w.kinds, "kinds", 1, "how many kinds of parents there are")
	cmd.Flags().IntVar(&w.size, "size", 0, "bytes of the ConfigMap's bulk")
	cmd.Flags().StringVar(&w.patch, "patch", "", "what parents patch: own, shared or selected (default: they have children)")
	return cmd
}

// engineConfig is a client configuration without a rate limit. It silences the logs of libraries, as errors contain
// what matters.
func engineConfig(kubeconfig string) (*rest.Config, error) {
	ctrllog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}
