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

	"kanon.dev/kanon/cmd/kanonbench/internal/loop"
	"kanon.dev/kanon/cmd/kanonbench/internal/operator"
	"kanon.dev/kanon/cmd/kanonbench/internal/report"
)

// workers is how many parents each engine works on at the same time.
const workers = 16

// engine is a program that does the work.
type engine struct {
	name    string
	program string
	args    []string
	// told: it does not notice edited children by itself, and goes over all
	// parents when it is told to.
	told bool
}

// engines are those that are compared. The operator and the loop are this program
// itself.
func engines(o *Options, kubeconfig, rule string) ([]engine, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return []engine{
		{name: report.Operator, program: self, args: []string{"operator", "--kubeconfig=" + kubeconfig}},
		{name: report.Loop, program: self, args: []string{"loop", "--kubeconfig=" + kubeconfig}, told: true},
		{name: report.Kanon, program: o.Kanon, args: append([]string{
			"run", "--kubeconfig=" + kubeconfig, "--rules=" + rule, fmt.Sprintf("--workers=%d", workers),
		}, o.KanonArgs...)},
	}, nil
}

func newOperatorCommand() *cobra.Command {
	var kubeconfig string
	cmd := &cobra.Command{
		Use:    "operator --kubeconfig FILE",
		Short:  "Run the operator that Kanon is compared with",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := engineConfig(kubeconfig)
			if err != nil {
				return err
			}
			return operator.Run(cmd.Context(), config, workers)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file")
	return cmd
}

func newLoopCommand() *cobra.Command {
	var kubeconfig string
	cmd := &cobra.Command{
		Use:    "loop --kubeconfig FILE",
		Short:  "Run the bare loop that Kanon is compared with",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := engineConfig(kubeconfig)
			if err != nil {
				return err
			}
			return loop.Run(cmd.Context(), config, os.Stdin, workers)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file")
	return cmd
}

// engineConfig is a client configuration without a limit of its own. Libraries
// stay silent: what matters is in the error.
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
