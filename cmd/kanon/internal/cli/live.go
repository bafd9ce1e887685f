package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program"
)

// LiveFlags are the flags of commands about a cluster's rules and objects, with kubectl's names.
type LiveFlags struct {
	Namespace     string
	AllNamespaces bool
	Selector      string
	// KanonNamespace is Kanon's own.
	KanonNamespace string
	Limits         program.Limits
	Cluster        ClusterFlags
}

// Add declares the flags. objects is the noun for what -n and -l choose, such as "parents".
func (l *LiveFlags) Add(cmd *cobra.Command, objects string) {
	l.AddNamespaces(cmd, objects)
	cmd.Flags().StringVarP(&l.Selector, "selector", "l", "", objects+" with these labels, as for kubectl")
	l.AddCluster(cmd)
}

// AddNamespaces declares -n and -A.
func (l *LiveFlags) AddNamespaces(cmd *cobra.Command, objects string) {
	l.AddNamespace(cmd, objects)
	cmd.Flags().BoolVarP(&l.AllNamespaces, "all-namespaces", "A", false, objects+" in all namespaces")
}

// AddNamespace declares -n.
func (l *LiveFlags) AddNamespace(cmd *cobra.Command, objects string) {
	cmd.Flags().StringVarP(&l.Namespace, "namespace", "n", "", "namespace of the "+objects+"; default: that of the kubeconfig")
}

// AddCluster declares the flags for the cluster and Kanon's namespace. They are declared last, because those for
// namespaces are completed.
func (l *LiveFlags) AddCluster(cmd *cobra.Command) {
	AddKanonNamespace(cmd.Flags(), &l.KanonNamespace)
	l.Cluster.AddForAnswers(cmd, ClusterGroup)
}

// Query is the query that the flags describe. The error is a usage error.
func (l *LiveFlags) Query(cmd *cobra.Command) (live.Query, error) {
	q := live.Query{Namespace: l.Namespace}
	if l.AllNamespaces && l.Namespace != "" {
		return q, Usagef(cmd, "--namespace and --all-namespaces exclude each other")
	}
	if !l.AllNamespaces {
		q.Namespace = cmp.Or(l.Namespace, l.Cluster.Namespace())
	}
	if l.Selector == "" {
		return q, nil
	}
	selector, err := labels.Parse(l.Selector)
	if err != nil {
		return q, Usagef(cmd, "--selector %q: %w", l.Selector, err)
	}
	q.Selector = selector
	return q, nil
}

// Options are those of the compiler.
func (l *LiveFlags) Options() rules.Options {
	return rules.Options{Namespace: l.KanonNamespace, Limits: l.Limits}
}

// Live is a cluster, with its rules if they were read.
type Live struct {
	Flags  *LiveFlags
	Config *rest.Config
	Client dynamic.Interface
	Rules  *live.Rules
	// kinds is loaded by Kinds.
	kinds *manifests.Kinds
}

// Open connects to the cluster. It reads no rules.
func (l *LiveFlags) Open(cmd *cobra.Command) (*Live, error) {
	config, err := l.Cluster.Reach(cmd)
	if err != nil {
		return nil, err
	}
	return l.connect(config)
}

func (l *LiveFlags) connect(config *rest.Config) (*Live, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	return &Live{Flags: l, Config: config, Client: client}, nil
}

// Reach connects to the cluster and reads its rules.
func (l *LiveFlags) Reach(cmd *cobra.Command) (*Live, error) {
	there, err := l.Open(cmd)
	if err == nil {
		there.Rules, err = live.ListRules(cmd.Context(), there.Client, l.KanonNamespace)
	}
	return there, err
}

// Kinds discovers the kinds of the cluster, once.
func (l *Live) Kinds(ctx context.Context) (kinds *manifests.Kinds, err error) {
	if l.kinds == nil {
		l.kinds, err = manifests.ClusterKinds(ctx, l.Config)
	}
	return l.kinds, err
}

// Reader returns a reader for the objects of rules, and a compiler for the rules.
func (l *Live) Reader(ctx context.Context) (*live.Reader, *live.Compiler, error) {
	kinds, err := l.Kinds(ctx)
	return &live.Reader{Client: l.Client, Kinds: kinds},
		&live.Compiler{Kinds: kinds, Namespace: l.Flags.KanonNamespace, Limits: l.Flags.Limits}, err
}

// Desk writes to the cluster.
func (l *Live) Desk() live.Desk {
	return live.Desk{Client: l.Client, Namespace: l.Flags.KanonNamespace}
}

// Output has the flags for the format of a list.
type Output struct {
	format    string
	noHeaders bool
}

// Add declares the flags.
func (o *Output) Add(cmd *cobra.Command) {
	Choice{"output", "o", strings.Join(live.Formats(), ", ") + "; default: a table", live.Formats()}.Add(cmd, &o.format)
	cmd.Flags().BoolVar(&o.noHeaders, "no-headers", false, "print no titles of columns")
}

// Printer is a printer for the chosen format.
func (o *Output) Printer(cmd *cobra.Command) *live.Printer {
	out := cmd.OutOrStdout()
	return &live.Printer{Out: out, Format: live.ListFormat(o.format), Color: HasColors(out), NoHeaders: o.noHeaders}
}
