package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/cmd/kanon/internal/manager"
)

// ClusterGroup is the heading of the cluster flags in help texts.
const ClusterGroup = "Cluster"

// ClusterFlags choose a cluster and a user, with kubectl's names.
type ClusterFlags struct {
	kubeconfig string
	overrides  clientcmd.ConfigOverrides
}

// Add declares the flags under a heading, which may say when they are needed, and their completions.
func (c *ClusterFlags) Add(cmd *cobra.Command, heading string) {
	AddGroup(cmd.Flags(), heading, func(flags *pflag.FlagSet) {
		flags.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig file; default: $KUBECONFIG, ~/.kube/config, or the cluster Kanon runs in")
		flags.StringVar(&c.overrides.CurrentContext, "context", "", "context in the kubeconfig; default: its current one")
		flags.StringVar(&c.overrides.Context.Cluster, "cluster", "", "cluster in the kubeconfig; default: that of the context")
		flags.StringVar(&c.overrides.Context.AuthInfo, "user", "", "user in the kubeconfig; default: that of the context")
		flags.StringVarP(&c.overrides.ClusterInfo.Server, "server", "s", "", "address of the API server; default: that of the cluster")
		flags.StringVar(&c.overrides.AuthInfo.Impersonate, "as", "", "user to impersonate")
		flags.StringArrayVar(&c.overrides.AuthInfo.ImpersonateGroups, "as-group", nil, "group to impersonate; repeatable")
		flags.StringVar(&c.overrides.AuthInfo.ImpersonateUID, "as-uid", "", "UID to impersonate")
	})
	c.complete(cmd)
}

// AddForAnswers declares the flags of a command that needs an answer now: also the timeout of requests.
func (c *ClusterFlags) AddForAnswers(cmd *cobra.Command, heading string) {
	AddGroup(cmd.Flags(), heading, func(flags *pflag.FlagSet) {
		flags.StringVar(&c.overrides.Timeout, "request-timeout", "", "how long a request may take, such as 30s; default: no limit")
	})
	c.Add(cmd, heading)
}

// RefuseUnused rejects cluster flags if no cluster is used: whoever gives one expects an answer from that cluster.
func RefuseUnused(cmd *cobra.Command, needed string) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && strings.HasPrefix(FlagGroup(f), ClusterGroup) {
			err = Usagef(cmd, "--%s has no effect without --%s, because no cluster is asked", f.Name, needed)
		}
	})
	return err
}

// Config is the client configuration. It has no client-side rate limit, as the API server has priority and fairness.
// The error is a usage error.
func (c *ClusterFlags) Config() (*rest.Config, error) {
	if c.overrides.Timeout != "" {
		if _, err := clientcmd.ParseTimeout(c.overrides.Timeout); err != nil {
			return nil, AsUsage(fmt.Errorf("--request-timeout %q is no duration such as 30s", c.overrides.Timeout))
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
		return nil, AsUsage(fmt.Errorf("find the cluster: %w", err))
	}
	config.QPS = -1
	config.UserAgent = "kanon/" + strings.ReplaceAll(Version(), " ", "-")
	return config, nil
}

// Namespace is the namespace of the context.
func (c *ClusterFlags) Namespace() string {
	namespace, _, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(c.loading(), &c.overrides).Namespace()
	if err != nil || namespace == "" {
		return metav1.NamespaceDefault
	}
	return namespace
}

func (c *ClusterFlags) loading() *clientcmd.ClientConfigLoadingRules {
	loading := clientcmd.NewDefaultClientConfigLoadingRules()
	loading.ExplicitPath = c.kubeconfig
	return loading
}

// hostAnnotation is the annotation of a command with the address of the API server that it asks; see OfCluster.
const hostAnnotation = "kanon.dev/host"

// Reach is Config for a command that needs an answer now. The API server must answer the first and all later requests
// within manager.AnswerLimit, unless --request-timeout is set. The command says so if that takes a while.
func (c *ClusterFlags) Reach(cmd *cobra.Command) (*rest.Config, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	cmd.Annotations = map[string]string{hostAnnotation: config.Host}
	if c.overrides.Timeout == "" {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return patience{next} })
		defer SayIfSlow(cmd.ErrOrStderr(), "Waiting for the API server at "+config.Host+" …")()
	}
	config.WarningHandlerWithContext = rest.NoWarnings{} // whether a kind is deprecated concerns its author, not the caller
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	if _, err = manager.NewAPIServer(client.RESTClient(), config.Host).Version(cmd.Context()); err != nil {
		return nil, fmt.Errorf("ask %s for its version: %w", config.Host, err)
	}
	return config, nil
}

// AddChoice declares --cluster for a command that works without a cluster. Without a value, it selects the cluster of the
// context. With a name, like kubectl's flag, it selects that cluster of the kubeconfig.
func (c *ClusterFlags) AddChoice(flags *pflag.FlagSet, usage string) {
	flags.StringVar(&c.overrides.Context.Cluster, "cluster", "", usage)
	flags.Lookup("cluster").NoOptDefVal = "true"
}

// Chosen reports whether --cluster selects a cluster.
func (c *ClusterFlags) Chosen() bool {
	asked, err := strconv.ParseBool(c.overrides.Context.Cluster)
	if err == nil {
		c.overrides.Context.Cluster = ""
	}
	return asked || c.overrides.Context.Cluster != ""
}

// writeLimit bounds a write, including dry runs. Admission webhooks may take 30 seconds each.
const writeLimit = 35 * time.Second

// patience is a transport for interactive commands. It gives up on a server that accepts requests but does not answer.
// The body of a response, such as a watch, is not limited.
type patience struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (p patience) RoundTrip(request *http.Request) (*http.Response, error) {
	limit := writeLimit
	if request.Method == http.MethodGet || manager.IsReview(request) { // reviews have no admission webhooks
		limit = manager.AnswerLimit
	}
	noAnswer := fmt.Errorf("%w within %s; --request-timeout waits longer", manager.ErrNoAnswer, limit)
	ctx, cancel := context.WithCancelCause(request.Context())
	end := time.AfterFunc(limit, func() { cancel(noAnswer) })
	response, err := p.next.RoundTrip(request.WithContext(ctx)) //nolint:bodyclose // the caller closes it
	end.Stop()
	if err != nil {
		if context.Cause(ctx) == noAnswer { //nolint:errorlint // this very one
			err = noAnswer
		}
		cancel(nil)
		return nil, err
	}
	response.Body = &answer{ReadCloser: response.Body, done: func() { cancel(nil) }}
	return response, nil
}

// WrappedRoundTripper lets client-go find the wrapped transport, as its own wrappers do.
func (p patience) WrappedRoundTripper() http.RoundTripper { return p.next }

// answer is the body of a response. Closing it ends the request's context.
type answer struct {
	io.ReadCloser
	done func()
}

// Close implements io.Closer.
func (a *answer) Close() error {
	defer a.done()
	return a.ReadCloser.Close()
}
