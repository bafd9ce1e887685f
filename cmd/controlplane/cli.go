package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	_ "time/tzdata" // time zones of CronJobs, on machines without a zone database

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // authentication plugins of kubectl
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics of the components
	_ "k8s.io/component-base/metrics/prometheus/version"  // version metric of the components
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// The names of the components, which are also the names of their subcommands,
// of their log files and of their client certificates.
const (
	etcdName              = "etcd"
	apiServerName         = "kube-apiserver"
	controllerManagerName = "kube-controller-manager"
	schedulerName         = "kube-scheduler"
	garbageCollectorName  = "garbage-collector"
	kwokName              = "kwok"
	kubectlName           = "kubectl"
)

// untilStdinCloses is the flag that binds a process to the life of the one
// that started it.
const untilStdinCloses = "until-stdin-closes"

// entryPoint runs a component to its end and returns its exit code. args are
// the component's own arguments, without its name.
type entryPoint func(ctx context.Context, args []string) int

// entryPoints gives each component's entry point by the component's name.
func entryPoints() map[string]entryPoint {
	return map[string]entryPoint{
		etcdName: func(_ context.Context, args []string) int {
			etcdmain.Main(append([]string{etcdName}, args...))
			return 0
		},
		apiServerName:         kubernetesComponent(apiserver.NewAPIServerCommand),
		controllerManagerName: kubernetesComponent(controllermanager.NewControllerManagerCommand),
		schedulerName: kubernetesComponent(func() *cobra.Command {
			return scheduler.NewSchedulerCommand()
		}),
		garbageCollectorName: ownComponent(newGarbageCollectorCommand),
		kwokName:             ownComponent(newKwokCommand),
		kubectlName:          runKubectl,
	}
}

func isComponent(name string) bool {
	_, ok := entryPoints()[name]
	return ok
}

// newRoot builds the command line of the binary.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "controlplane",
		Short:         "A Kubernetes control plane in one binary, on loopback",
		SilenceUsage:  true,
		SilenceErrors: true,
		// The components parse their own flags; ours stand before their name.
		TraverseChildren: true,
	}
	root.PersistentFlags().Bool(untilStdinCloses, false,
		"exit when standard input reaches its end, as it does when the process that holds the other end of the pipe dies")
	root.AddCommand(newUpCommand())
	for name, entry := range entryPoints() {
		root.AddCommand(componentCommand(name, entry))
	}
	return root
}

// componentCommand wraps an entry point. It does not return from the component
// by way of cobra, because the components report their errors themselves.
func componentCommand(name string, entry entryPoint) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              "Run " + name + " alone, with its own flags",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			bound, err := cmd.Root().PersistentFlags().GetBool(untilStdinCloses)
			if err != nil {
				return fmt.Errorf("read flag: %w", err)
			}
			if bound {
				go func() {
					waitForEOF(os.Stdin)
					os.Exit(1)
				}()
			}
			// The components take from here the name by which clients introduce
			// themselves (and so that of field managers), and kubectl its plugins.
			os.Args = append([]string{name}, args...)
			os.Exit(entry(cmd.Context(), args))
			return nil
		},
	}
}

// waitForEOF reads r until it ends or fails, which a pipe does when the last
// process that could write to it is gone.
func waitForEOF(r io.Reader) {
	_, _ = io.Copy(io.Discard, r) // its end is the news, whatever brought it about
}

// untilSignal returns a context that ends at SIGINT or SIGTERM.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// kubernetesComponent runs a server of k8s.io/kubernetes as its own main does.
func kubernetesComponent(build func() *cobra.Command) entryPoint {
	return func(_ context.Context, args []string) int {
		cmd := build()
		cmd.SetArgs(slices.Concat([]string{}, args))
		return cli.Run(cmd)
	}
}

// ownComponent runs a component of this package.
func ownComponent(build func() *cobra.Command) entryPoint {
	return func(ctx context.Context, args []string) int {
		cmd := build()
		cmd.SetArgs(slices.Concat([]string{}, args))
		cmd.SetContext(ctx)
		return cli.Run(cmd)
	}
}

// runKubectl runs kubectl as its own main does.
func runKubectl(_ context.Context, _ []string) int {
	_, _ = logs.GlogSetter(kubectl.GetLogVerbosity(os.Args)) // a wrong level is reported when the flags are parsed
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err) // prints and exits with the code that belongs to the error
	}
	return 0
}
