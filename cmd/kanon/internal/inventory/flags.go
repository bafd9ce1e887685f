package inventory

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/cmd/kanon/internal/connection"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/live/installed"
	"kanon.dev/kanon/live/listing"
	"kanon.dev/kanon/offline/manifests"
)

// Flags are the flags of commands about a cluster's rules, with kubectl's names.
type Flags struct {
	Namespace      string
	AllNamespaces  bool
	Selector       string
	KanonNamespace string
	Cluster        connection.Flags
}

// Add declares the flags. objects is the noun for what -n and -l choose, such as "parents".
func (l *Flags) Add(cmd *cobra.Command, objects string) {
	flags := cmd.Flags()
	flags.StringVarP(&l.Namespace, "namespace", "n", "", "namespace of the "+objects+"; default: that of the kubeconfig")
	flags.BoolVarP(&l.AllNamespaces, "all-namespaces", "A", false, objects+" in all namespaces")
	flags.StringVarP(&l.Selector, "selector", "l", "", objects+" with these labels, as for kubectl")
	l.AddCluster(cmd)
}

// AddCluster declares the flags for the cluster and Kanon's namespace.
func (l *Flags) AddCluster(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.KanonNamespace, "kanon-namespace", engine.DefaultNamespace, "Kanon's own namespace, which has the rules")
	l.Cluster.Add(cmd.Flags(), connection.Group)
	l.Cluster.AddTimeout(cmd.Flags(), connection.Group)
	l.Cluster.Complete(cmd)
}

// Query is the query that the flags describe. The error is a usage error.
func (l *Flags) Query(cmd *cobra.Command) (installed.Query, error) {
	q := installed.Query{Namespace: l.Namespace}
	if l.AllNamespaces && l.Namespace != "" {
		return q, exit.Usagef(cmd, "--namespace and --all-namespaces exclude each other")
	}
	if q.Namespace == "" && !l.AllNamespaces {
		q.Namespace = l.Cluster.Namespace()
	}
	if l.Selector == "" {
		return q, nil
	}
	selector, err := labels.Parse(l.Selector)
	if err != nil {
		return q, exit.Usagef(cmd, "--selector %q: %w", l.Selector, err)
	}
	q.Selector = selector
	return q, nil
}

// Live is a cluster with its rules.
type Live struct {
	Config *rest.Config
	Client dynamic.Interface
	Rules  *installed.Rules
	// kinds is loaded by Reader.
	kinds *manifests.Kinds
}

// Reach connects to the cluster and reads its rules. notes receives a message if that takes a while.
func (l *Flags) Reach(ctx context.Context, notes io.Writer) (*Live, error) {
	config, err := l.Cluster.Reach(ctx, notes)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	rules, err := installed.List(ctx, client, l.KanonNamespace)
	if err != nil {
		return nil, exit.OfCluster(config.Host, err)
	}
	return &Live{Config: config, Client: client, Rules: rules}, nil
}

// Reader returns a reader for the objects of rules.
func (l *Live) Reader(ctx context.Context) (*installed.Reader, error) {
	if l.kinds == nil {
		kinds, err := manifests.ClusterKinds(ctx, l.Config)
		if err != nil {
			return nil, exit.OfCluster(l.Config.Host, err)
		}
		l.kinds = kinds
	}
	return &installed.Reader{Client: l.Client, Kinds: l.kinds}, nil
}

// Output has the flags for the format of a list.
type Output struct {
	format    string
	noHeaders bool
}

// Add declares the flags.
func (o *Output) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&o.format, "output", "o", "", strings.Join(listing.Formats(), ", ")+"; default: a table")
	flags.BoolVar(&o.noHeaders, "no-headers", false, "print no titles of columns")
	commandline.CompleteFlag(cmd, "output", listing.Formats)
}

// Printer is a printer for the chosen format. The error is a usage error.
func (o *Output) Printer(cmd *cobra.Command) (*listing.Printer, error) {
	format := listing.Format(o.format)
	if !format.IsFormat() {
		return nil, exit.Usagef(cmd, "--output %q is none of %s", o.format, strings.Join(listing.Formats(), ", "))
	}
	out := cmd.OutOrStdout()
	return &listing.Printer{Out: out, Format: format, Color: terminal.HasColors(out), NoHeaders: o.noHeaders}, nil
}

// installed lists the cluster's rules for shell completion; none if it does not answer.
func (l *Flags) installed(cmd *cobra.Command) *installed.Rules {
	ctx, cancel := context.WithTimeout(cmd.Context(), connection.CompletionLimit)
	defer cancel()
	there, err := l.Reach(ctx, io.Discard)
	if err != nil {
		return &installed.Rules{} // the command will report the error
	}
	return there.Rules
}

// Rule is a rule of the cluster for shell completion; nil if it is unknown.
func (l *Flags) Rule(cmd *cobra.Command, name string) *installed.Rule {
	rule, err := l.installed(cmd).Find(name)
	if err != nil {
		return nil
	}
	return rule
}

// CompleteRules completes the names of the cluster's rules.
func (l *Flags) CompleteRules(cmd *cobra.Command) []cobra.Completion {
	var names []cobra.Completion
	for _, rule := range l.installed(cmd).All {
		name := rule.Name.Name
		if rule.Name.Namespace != l.KanonNamespace {
			name = rule.Name.String()
		}
		names = append(names, cobra.CompletionWithDesc(name, string(rule.State)+", for "+rule.ParentKind().Kind))
	}
	return slices.Compact(names)
}
