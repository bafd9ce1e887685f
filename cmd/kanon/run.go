package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
	"kanon.dev/kanon/cmd/kanon/internal/manager"
)

// lastTraces bounds the time for sending the last traces before the program ends.
const lastTraces = 5 * time.Second

// runOptions are the flags of kanon run.
type runOptions struct {
	cluster   cli.ClusterFlags
	verbosity int
	logFormat string
	secure    bool
	elect     bool
	election  manager.Election
	// process has the options that are flags themselves.
	process manager.Options
}

func newRunCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run rules against a cluster until a signal ends it",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.Usagef(cmd, "unexpected argument %q: rules are named with --rules", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return cli.Usagef(cmd, "%w", err)
			}
			return o.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	cli.AddKanonNamespace(flags, &o.process.Namespace)
	flags.StringArrayVar(&o.process.Rules, "rules", nil, "directory or file with rules; repeatable")
	flags.BoolVar(&o.process.TenantRules, "tenant-rules", false, "also run the rules of other namespaces, each confined to its namespace and with the rights of a ServiceAccount there")
	flags.IntVar(&o.process.Workers, "workers", 16, "how many parents are reconciled at the same time")
	flags.IntVarP(&o.verbosity, "verbosity", "v", 0, "how much to log: 0 what begins and ends, 2 writes too, 4 decisions too")
	flags.StringVar(&o.logFormat, "log-format", "text", "text or json")
	cli.AddGroup(flags, "Health and metrics", o.declareServing)
	cli.AddGroup(flags, "Leader election", o.declareElection)
	o.cluster.Add(cmd, cli.ClusterGroup)
	cli.AddLimits(flags, &o.process.Limits)
	cli.CompleteFlag(cmd, "log-format", func() []cobra.Completion { return []cobra.Completion{"text", "json"} })
	return cmd
}

// declareServing declares the flags for the endpoints, with the names of Kubernetes' controllers.
func (o *runOptions) declareServing(flags *pflag.FlagSet) {
	flags.StringVar(&o.process.Serving.Health, "health-probe-bind-address", manager.Off, "address that serves /livez and /readyz, such as :8081; 0: none")
	flags.StringVar(&o.process.Serving.Metrics, "metrics-bind-address", manager.Off, "address that serves /metrics, /debug/pprof/ and /debug/flags/v, such as :8443; 0: none")
	flags.BoolVar(&o.secure, "metrics-secure", true, "serve metrics by HTTPS to those who may get that path in the cluster; false: by HTTP to all, on loopback")
	flags.StringVar(&o.process.Serving.CertificateFile, "tls-cert-file", "", "file with the certificate for metrics, followed when it changes; default: a self-signed one")
	flags.StringVar(&o.process.Serving.KeyFile, "tls-private-key-file", "", "file with the key of that certificate")
}

// declareElection declares the flags of the leader election, with the names of kube-controller-manager.
func (o *runOptions) declareElection(flags *pflag.FlagSet) {
	flags.BoolVar(&o.elect, "leader-elect", false, "write only while this Kanon has the Lease kanon in its namespace, and stand by otherwise")
	flags.DurationVar(&o.election.LeaseDuration, "leader-elect-lease-duration", manager.DefaultLeaseDuration, "how long the others wait for one that does not renew the Lease")
	flags.DurationVar(&o.election.RenewDeadline, "leader-elect-renew-deadline", manager.DefaultRenewDeadline, "how long one goes on that cannot renew the Lease")
	flags.DurationVar(&o.election.RetryPeriod, "leader-elect-retry-period", manager.DefaultRetryPeriod, "pause between two renewals")
}

// validate checks the flags that can be checked without a cluster.
func (o *runOptions) validate() error {
	var wrong []string
	if o.process.Workers < 1 {
		wrong = append(wrong, fmt.Sprintf("--workers must be at least 1, not %d", o.process.Workers))
	}
	if o.process.Namespace == "" {
		wrong = append(wrong, "--kanon-namespace must not be empty")
	}
	if o.logFormat != "text" && o.logFormat != "json" {
		wrong = append(wrong, fmt.Sprintf("--log-format must be text or json, not %q", o.logFormat))
	}
	o.process.Serving.PlainMetrics = !o.secure
	if err := o.process.Serving.Validate(); err != nil {
		wrong = append(wrong, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if err := o.election.Validate(); err != nil {
		wrong = append(wrong, err.Error())
	}
	for _, path := range o.process.Rules {
		if _, err := os.Stat(path); err != nil {
			wrong = append(wrong, fmt.Sprintf("--rules %s: %v", path, manifests.Reason(err)))
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// run runs the engine until ctx ends.
func (o *runOptions) run(ctx context.Context) error {
	p := o.process
	p.Verbosity, p.Version = manager.NewVerbosity(o.verbosity), cli.Version()
	log := manager.NewLogger(os.Stderr, o.logFormat, p.Verbosity) // standard output stays free
	klog.SetLogger(log.WithName("client-go"))                     // client-go logs through klog where it has no context
	ctx = logr.NewContext(ctx, log)

	var err error
	if p.Config, err = o.cluster.Config(); err != nil {
		return err
	}
	if o.elect {
		p.Election = &o.election
	}
	traces, err := manager.NewTraces(ctx, p.Version)
	if err != nil {
		return cli.AsUsage(err)
	}
	p.Tracer = traces.Tracer()
	m, err := manager.New(p)
	if err != nil {
		return err
	}
	log.Info("Kanon starts", "version", p.Version, "server", p.Config.Host, "namespace", p.Namespace, "rules", strings.Join(p.Rules, ","))
	err = m.Run(ctx)
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTraces)
	defer cancel()
	if lost := traces.Shutdown(sending); lost != nil {
		log.Error(lost, "Traces cannot be sent")
	}
	log.Info("Kanon has stopped")
	return err
}
