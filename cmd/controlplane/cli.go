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
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
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

// untilStdinCloses is the flag that makes a process exit with the process that started it.
const untilStdinCloses = "until-stdin-closes"

// entryPoint runs a component until it ends, and returns its exit code. args are the component's arguments, without its
// name.
type entryPoint func(args []string) int

// entryPoints has the entry point of each component, by name.
func entryPoints() map[string]entryPoint {
	return map[string]entryPoint{
		etcdName: func(args []string) int {
			etcdmain.Main(append([]string{etcdName}, args...))
			return 0
		},
		apiServerName:         runCommand(apiserver.NewAPIServerCommand),
		controllerManagerName: runCommand(controllermanager.NewControllerManagerCommand),
		schedulerName:         runCommand(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
		garbageCollectorName:  runCommand(newGarbageCollectorCommand),
		kwokName:              runCommand(newKwokCommand),
		kubectlName:           runKubectl,
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
		// The components parse their own flags. Flags of this program come before the name of a component.
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

// componentCommand wraps an entry point. It exits instead of returning to cobra, because the components report their
// errors themselves.
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
			// The components take their user agent, and so their field manager, from here, and kubectl takes its
			// plugins.
			os.Args = append([]string{name}, args...)
			os.Exit(entry(args))
			return nil
		},
	}
}

// waitForEOF reads r until it ends or fails. A pipe ends when no process can write to it any more.
func waitForEOF(r io.Reader) {
	_, _ = io.Copy(io.Discard, r) // only the end matters, whatever its cause
}

// untilSignal returns a context that ends at SIGINT or SIGTERM.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// runCommand runs a component as the main of a Kubernetes server does.
func runCommand(build func() *cobra.Command) entryPoint {
	return func(args []string) int {
		cmd := build()
		cmd.SetArgs(slices.Concat([]string{}, args)) // never nil, which would mean os.Args
		return cli.Run(cmd)
	}
}

// clientCommand makes a component of this package, which runs with a client of the API server until it is ended by a
// signal. The client has no limit on its rate.
func clientCommand(name, short string, run func(ctx context.Context, config *rest.Config) error) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			config, err := componentConfig(path, name)
			if err != nil {
				return err
			}
			return run(ctx, config)
		},
	}
	cmd.Flags().StringVar(&path, "kubeconfig", "", "kubeconfig file of the API server")
	return cmd
}

// componentConfig loads a component's client configuration, without a client-side rate limit.
func componentConfig(path, userAgent string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig: %w", err)
	}
	config.QPS = -1
	config.UserAgent = userAgent
	return config, nil
}

// runKubectl runs kubectl as its own main does.
func runKubectl([]string) int {
	_, _ = logs.GlogSetter(kubectl.GetLogVerbosity(os.Args)) // a wrong level is reported when the flags are parsed
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err) // prints and exits with the code that belongs to the error
	}
	return 0
}
