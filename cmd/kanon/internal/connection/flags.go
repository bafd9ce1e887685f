package connection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/version"
	"kanon.dev/kanon/manager/apiserver"
	"kanon.dev/kanon/offline/manifests"
)

// Group is the heading of the cluster flags in help texts.
const Group = "Cluster"

// Flags choose a cluster and a user, with kubectl's names.
type Flags struct {
	kubeconfig string
	overrides  clientcmd.ConfigOverrides
}

// Add declares the flags under a heading, which may say when they are needed.
func (c *Flags) Add(flags *pflag.FlagSet, heading string) {
	commandline.AddGroup(flags, heading, func(flags *pflag.FlagSet) {
		flags.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig file; default: $KUBECONFIG, ~/.kube/config, or the cluster Kanon runs in")
		flags.StringVar(&c.overrides.CurrentContext, "context", "", "context in the kubeconfig; default: its current one")
		flags.StringVar(&c.overrides.Context.Cluster, "cluster", "", "cluster in the kubeconfig; default: that of the context")
		flags.StringVar(&c.overrides.Context.AuthInfo, "user", "", "user in the kubeconfig; default: that of the context")
		flags.StringVarP(&c.overrides.ClusterInfo.Server, "server", "s", "", "address of the API server; default: that of the cluster")
		flags.StringVar(&c.overrides.AuthInfo.Impersonate, "as", "", "user to impersonate")
		flags.StringArrayVar(&c.overrides.AuthInfo.ImpersonateGroups, "as-group", nil, "group to impersonate; repeatable")
		flags.StringVar(&c.overrides.AuthInfo.ImpersonateUID, "as-uid", "", "UID to impersonate")
	})
}

// AddTimeout declares the timeout of requests. A command that watches does not have it, because it would end the
// watches.
func (c *Flags) AddTimeout(flags *pflag.FlagSet, heading string) {
	commandline.AddGroup(flags, heading, func(flags *pflag.FlagSet) {
		flags.StringVar(&c.overrides.Timeout, "request-timeout", "", "how long a request may take, such as 30s; default: no limit")
	})
}

// RefuseUnused rejects cluster flags if no cluster is used: whoever gives one expects an answer from that cluster.
func RefuseUnused(cmd *cobra.Command, needed string) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && strings.HasPrefix(commandline.Group(f), Group) {
			err = exit.Usagef(cmd, "--%s has no effect without --%s, because no cluster is asked", f.Name, needed)
		}
	})
	return err
}

// Config is the client configuration. It has no client-side rate limit, as the API server has priority and fairness.
// The error is a usage error.
func (c *Flags) Config() (*rest.Config, error) {
	if c.overrides.Timeout != "" {
		if _, err := clientcmd.ParseTimeout(c.overrides.Timeout); err != nil {
			return nil, exit.AsUsage(fmt.Errorf("--request-timeout %q is no duration such as 30s", c.overrides.Timeout))
		}
	}
	loading := c.loading()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loading, &c.overrides).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		err = fmt.Errorf("none is configured in %s, and Kanon does not run in one; name a kubeconfig file with --kubeconfig",
			strings.Join(loading.GetLoadingPrecedence(), " or "))
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("--kubeconfig %s: %w", c.kubeconfig, manifests.Reason(err))
	case err != nil:
		err = fmt.Errorf("%w; 'kubectl config view' shows what the kubeconfig has", err)
	}
	if err != nil {
		return nil, exit.AsUsage(fmt.Errorf("find the cluster: %w", err))
	}
	config.QPS = -1
	config.UserAgent = "kanon/" + strings.ReplaceAll(version.String(), " ", "-")
	return config, nil
}

// Namespace is the namespace of the context.
func (c *Flags) Namespace() string {
	namespace, _, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(c.loading(), &c.overrides).Namespace()
	if err != nil || namespace == "" {
		return metav1.NamespaceDefault
	}
	return namespace
}

func (c *Flags) loading() *clientcmd.ClientConfigLoadingRules {
	loading := clientcmd.NewDefaultClientConfigLoadingRules()
	loading.ExplicitPath = c.kubeconfig
	return loading
}

// Reach is Config for a command that needs an answer now. The API server must answer the first and all later requests
// within apiserver.AnswerLimit, unless --request-timeout is set. notes receives a message if that takes a while.
func (c *Flags) Reach(ctx context.Context, notes io.Writer) (*rest.Config, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	if !c.HasTimeout() {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return &patience{next: next, host: config.Host, notes: notes}
		})
	}
	config.WarningHandlerWithContext = rest.NoWarnings{} // whether a kind is deprecated concerns its author, not the caller
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	_, err = apiserver.New(client.RESTClient(), config.Host).Version(ctx)
	switch {
	case err != nil && exit.IsOutage(err):
		return nil, exit.OfCluster(config.Host, err)
	case err != nil:
		return nil, fmt.Errorf("ask %s for its version: %w", config.Host, err)
	}
	return config, nil
}

// HasTimeout reports whether requests have a timeout, which would end watches.
func (c *Flags) HasTimeout() bool { return c.overrides.Timeout != "" }

// AddChoice declares --cluster for a command that works without a cluster; see choice. asked is set if a cluster is to
// be used.
func (c *Flags) AddChoice(flags *pflag.FlagSet, asked *bool, usage string) {
	flags.Var(choice{asked, &c.overrides.Context.Cluster}, "cluster", usage)
	flags.Lookup("cluster").NoOptDefVal = "true"
}

// choice is the flag --cluster of a command that works without a cluster. Without a value, it selects the cluster of
// the context. With a name, like kubectl's flag, it selects that cluster of the kubeconfig.
type choice struct {
	asked *bool
	name  *string
}

// Set implements pflag.Value.
func (c choice) Set(value string) error {
	*c.asked, *c.name = true, value
	if asked, err := strconv.ParseBool(value); err == nil {
		*c.asked, *c.name = asked, ""
	}
	return nil
}

// String implements pflag.Value.
func (c choice) String() string {
	switch {
	case c.asked == nil || !*c.asked:
		return "false"
	case *c.name == "":
		return "true"
	default:
		return *c.name
	}
}

// Type implements pflag.Value. A bool flag needs no value.
func (c choice) Type() string { return "bool" }
