package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/installed"
	"kanon.dev/kanon/listing"
	"kanon.dev/kanon/manifests"
)

// liveFlags are those of the commands for rules that a cluster has, by the names that kubectl has for them.
type liveFlags struct {
	namespace      string
	allNamespaces  bool
	selector       string
	kanonNamespace string
	cluster        clusterFlags
}

// add declares the flags. objects is what -n and -l choose, such as "parents".
func (l *liveFlags) add(cmd *cobra.Command, objects string) {
	flags := cmd.Flags()
	flags.StringVarP(&l.namespace, "namespace", "n", "", "namespace of the "+objects+"; default: that of the kubeconfig")
	flags.BoolVarP(&l.allNamespaces, "all-namespaces", "A", false, objects+" in all namespaces")
	flags.StringVarP(&l.selector, "selector", "l", "", objects+" with these labels, as for kubectl")
	l.addCluster(cmd)
}

// addCluster declares the flags that find Kanon and its cluster.
func (l *liveFlags) addCluster(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.kanonNamespace, "kanon-namespace", engine.DefaultNamespace, "Kanon's own namespace, which has the rules")
	l.cluster.add(cmd.Flags(), clusterGroup)
	l.cluster.addTimeout(cmd.Flags(), clusterGroup)
	l.cluster.complete(cmd)
}

// query is what the flags choose. An error is one of usage.
func (l *liveFlags) query(cmd *cobra.Command) (installed.Query, error) {
	q := installed.Query{Namespace: l.namespace}
	if l.allNamespaces && l.namespace != "" {
		return q, usageErrorf(cmd, "--namespace and --all-namespaces exclude each other")
	}
	if q.Namespace == "" && !l.allNamespaces {
		q.Namespace = l.cluster.namespace()
	}
	if l.selector == "" {
		return q, nil
	}
	selector, err := labels.Parse(l.selector)
	if err != nil {
		return q, usageErrorf(cmd, "--selector %q: %w", l.selector, err)
	}
	q.Selector = selector
	return q, nil
}

// live is a cluster with rules.
type live struct {
	config *rest.Config
	client dynamic.Interface
	rules  *installed.Rules
	// kinds is nil until it is needed; see reader.
	kinds *manifests.Kinds
}

// reach finds the cluster and reads its rules.
func (l *liveFlags) reach(ctx context.Context) (*live, error) {
	config, err := l.cluster.reach(ctx)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	rules, err := installed.List(ctx, client, l.kanonNamespace)
	if err != nil {
		return nil, clusterError(config.Host, err)
	}
	return &live{config: config, client: client, rules: rules}, nil
}

// reader reads the objects of rules.
func (l *live) reader(ctx context.Context) (*installed.Reader, error) {
	if l.kinds == nil {
		kinds, err := manifests.ClusterKinds(ctx, l.config)
		if err != nil {
			return nil, clusterError(l.config.Host, err)
		}
		l.kinds = kinds
	}
	return &installed.Reader{Client: l.client, Kinds: l.kinds}, nil
}

// outputFlags say how a list is printed.
type outputFlags struct {
	format    string
	noHeaders bool
}

func (o *outputFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&o.format, "output", "o", "", strings.Join(listing.Formats(), ", ")+"; default: a table")
	flags.BoolVar(&o.noHeaders, "no-headers", false, "print no titles of columns")
	completeFlag(cmd, "output", listing.Formats)
}

// printer is what the flags say. An error is one of usage.
func (o *outputFlags) printer(cmd *cobra.Command) (*listing.Printer, error) {
	format := listing.Format(o.format)
	if !format.IsFormat() {
		return nil, usageErrorf(cmd, "--output %q is none of %s", o.format, strings.Join(listing.Formats(), ", "))
	}
	out := cmd.OutOrStdout()
	return &listing.Printer{Out: out, Format: format, Color: hasColors(out), NoHeaders: o.noHeaders}, nil
}

// completeRules gives the names of the rules that a cluster has.
func (l *liveFlags) completeRules(cmd *cobra.Command) []cobra.Completion {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionLimit)
	defer cancel()
	there, err := l.reach(ctx)
	if err != nil {
		return nil // the command will say what is wrong
	}
	var names []cobra.Completion
	for _, rule := range there.rules.All {
		name := rule.Name.Name
		if rule.Name.Namespace != l.kanonNamespace {
			name = rule.Name.String()
		}
		names = append(names, cobra.CompletionWithDesc(name, string(rule.State)+", for "+rule.ParentKind().Kind))
	}
	return slices.Compact(names)
}
