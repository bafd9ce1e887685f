package main

import (
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

// workers is the number of parents that each engine reconciles concurrently.
const workers = 16

// engine is a program that does the work.
type engine struct {
	name    string
	program string
	args    []string
}

// engineNames lists all engines.
func engineNames() []string { return []string{report.Operator, report.Kanon} }

// newEngine is an engine for a load, with its rules. The operator is this program itself.
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
	return engine{name: name, program: self, args: args}, nil
}

// newOperatorCommand makes the command that runs the operator.
func newOperatorCommand() *cobra.Command {
	var kubeconfig string
	o := app.Options{Workers: workers}
	cmd := &cobra.Command{
		Use:    report.Operator + " --kubeconfig FILE",
		Short:  "Run the operator that Kanon is compared with",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := engineConfig(kubeconfig)
			if err != nil {
				return err
			}
			return app.RunOperator(cmd.Context(), config, o)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file")
	cmd.Flags().IntVar(&o.Kinds, "kinds", 1, "how many kinds of parents there are")
	cmd.Flags().IntVar(&o.Size, "size", 0, "bytes of the ConfigMap's bulk")
	cmd.Flags().StringVar((*string)(&o.Patch), "patch", "", "what parents patch: own, shared or selected (default: they have children)")
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
