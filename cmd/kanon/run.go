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

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/cmd/kanon/internal/connection"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/rulefiles"
	"kanon.dev/kanon/cmd/kanon/internal/version"
	"kanon.dev/kanon/manager"
	"kanon.dev/kanon/manager/leadership"
	"kanon.dev/kanon/manager/tracing"
	"kanon.dev/kanon/offline/manifests"
	"kanon.dev/kanon/rules/program/template"
)

// lastTraces bounds the time for sending the last traces before the program ends.
const lastTraces = 5 * time.Second

// runOptions are the flags of kanon run.
type runOptions struct {
	cluster   connection.Flags
	namespace string
	rules     []string
	tenants   bool
	workers   int
	verbosity int
	logFormat string
	secure    bool
	elect     bool
	election  manager.Election
	serving   manager.Serving
	limits    template.Limits
}

func newRunCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run rules against a cluster until a signal ends it",
		Long: `Run rules against a cluster until SIGINT or SIGTERM.

Rules come from ConfigMaps labelled kanon.dev/rules=true in Kanon's own
namespace, where every key that ends in .yaml or .yml holds documents, from Rule
objects there, if the cluster has that kind, and from the files that --rules names.
With --tenant-rules, rules in other namespaces run as well. Such a rule reads and
writes in its own namespace only, with the rights of the ServiceAccount that its
spec.serviceAccountName names (default: kanon-tenant).

All are followed: a change takes effect at once, and a revision with a mistake
leaves the last good one running.

The cluster is the one that --kubeconfig, $KUBECONFIG or ~/.kube/config names,
or, where there is none of these, the one that Kanon runs in. While its API server does
not answer, Kanon tries again.

OTEL_EXPORTER_OTLP_ENDPOINT and OpenTelemetry's other variables have traces sent to a
collector, of each reconcile with its evaluations and requests.

The exit code is 0 after a signal, 1 when Kanon cannot go on, and 2 when the command
is called wrongly or no cluster is configured.`,
		Example: `  # Rules from ConfigMaps in namespace kanon-system
  kanon run

  # Rules from files, against the cluster of a kubeconfig
  kanon run --kubeconfig admin.kubeconfig --rules rules/ --rules extra.yaml

  # Rules of tenants, too
  kanon run --tenant-rules`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.Usagef(cmd, "unexpected argument %q: rules are named with --rules", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return exit.Usagef(cmd, "%w", err)
			}
			return o.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	rulefiles.AddKanonNamespace(flags, &o.namespace, "from which rule ConfigMaps are read")
	flags.StringArrayVar(&o.rules, "rules", nil, "directory or file with rules; repeatable")
	flags.BoolVar(&o.tenants, "tenant-rules", false, "also run the rules of other namespaces, each confined to its namespace and with the rights of a ServiceAccount there")
	flags.IntVar(&o.workers, "workers", 16, "how many parents are reconciled at the same time")
	flags.IntVarP(&o.verbosity, "verbosity", "v", 0, "how much to log: 0 what begins and ends, 2 writes too, 4 decisions too")
	flags.StringVar(&o.logFormat, "log-format", "text", "text or json")
	commandline.AddGroup(flags, "Health and metrics", o.declareServing)
	commandline.AddGroup(flags, "Leader election", o.declareElection)
	o.cluster.Add(flags, connection.Group)
	rulefiles.AddLimits(flags, &o.limits)
	o.cluster.Complete(cmd)
	commandline.CompleteFlag(cmd, "log-format", func() []cobra.Completion { return []cobra.Completion{"text", "json"} })
	return cmd
}

// declareServing declares the flags for the endpoints, with the names of Kubernetes' controllers.
func (o *runOptions) declareServing(flags *pflag.FlagSet) {
	flags.StringVar(&o.serving.Health, "health-probe-bind-address", manager.Off, "address that serves /livez and /readyz, such as :8081; 0: none")
	flags.StringVar(&o.serving.Metrics, "metrics-bind-address", manager.Off, "address that serves /metrics, /debug/pprof/ and /debug/flags/v, such as :8443; 0: none")
	flags.BoolVar(&o.secure, "metrics-secure", true, "serve metrics by HTTPS to those who may get that path in the cluster; false: by HTTP to all, on loopback")
	flags.StringVar(&o.serving.CertificateFile, "tls-cert-file", "", "file with the certificate for metrics, followed when it changes; default: a self-signed one")
	flags.StringVar(&o.serving.KeyFile, "tls-private-key-file", "", "file with the key of that certificate")
}

// declareElection declares the flags of the leader election, with the names of kube-controller-manager.
func (o *runOptions) declareElection(flags *pflag.FlagSet) {
	flags.BoolVar(&o.elect, "leader-elect", false, "write only while this Kanon has the Lease kanon in its namespace, and stand by otherwise")
	flags.DurationVar(&o.election.LeaseDuration, "leader-elect-lease-duration", leadership.DefaultLeaseDuration, "how long the others wait for one that does not renew the Lease")
	flags.DurationVar(&o.election.RenewDeadline, "leader-elect-renew-deadline", leadership.DefaultRenewDeadline, "how long one goes on that cannot renew the Lease")
	flags.DurationVar(&o.election.RetryPeriod, "leader-elect-retry-period", leadership.DefaultRetryPeriod, "pause between two renewals")
}

// validate checks the flags that can be checked without a cluster.
func (o *runOptions) validate() error {
	var wrong []string
	if o.workers < 1 {
		wrong = append(wrong, fmt.Sprintf("--workers must be at least 1, not %d", o.workers))
	}
	if o.namespace == "" {
		wrong = append(wrong, "--kanon-namespace must not be empty")
	}
	if o.logFormat != "text" && o.logFormat != "json" {
		wrong = append(wrong, fmt.Sprintf("--log-format must be text or json, not %q", o.logFormat))
	}
	if err := rulefiles.CheckLimits(o.limits); err != nil {
		wrong = append(wrong, err.Error())
	}
	o.serving.PlainMetrics = !o.secure
	if err := o.serving.Validate(); err != nil {
		wrong = append(wrong, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if err := leadership.CheckDurations(o.election.LeaseDuration, o.election.RenewDeadline, o.election.RetryPeriod); err != nil {
		wrong = append(wrong, err.Error())
	}
	for _, path := range o.rules {
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
	verbosity := manager.NewVerbosity(o.verbosity)
	log := manager.NewLogger(os.Stderr, o.logFormat, verbosity) // standard output stays free
	klog.SetLogger(log.WithName("client-go"))                   // client-go logs through klog where it has no context
	ctx = logr.NewContext(ctx, log)

	config, err := o.cluster.Config()
	if err != nil {
		return err
	}
	var election *manager.Election
	if o.elect {
		election = &o.election
	}
	traces, err := tracing.New(ctx, os.Getenv, version.String())
	if err != nil {
		return exit.AsUsage(err)
	}
	m, err := manager.New(manager.Options{
		Config: config, Namespace: o.namespace, Rules: o.rules, Workers: o.workers, Limits: o.limits, Serving: o.serving, TenantRules: o.tenants,
		Verbosity: verbosity, Election: election, Version: version.String(), Tracer: traces.Tracer(),
	})
	if err != nil {
		return err
	}
	log.Info("Kanon starts", "version", version.String(), "server", config.Host, "namespace", o.namespace, "rules", strings.Join(o.rules, ","))
	err = m.Run(ctx)
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTraces)
	defer cancel()
	if lost := traces.Shutdown(sending); lost != nil {
		log.Error(lost, "Traces cannot be sent")
	}
	log.Info("Kanon has stopped")
	return err
}
