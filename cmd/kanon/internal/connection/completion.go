package connection

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
)

// Complete registers completions for the flags that name parts of the kubeconfig and namespaces.
func (c *Flags) Complete(cmd *cobra.Command) {
	for flag, names := range map[string]func(*clientcmdapi.Config) []string{
		"context": func(config *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(config.Contexts)) },
		"cluster": func(config *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(config.Clusters)) },
		"user":    func(config *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(config.AuthInfos)) },
	} {
		commandline.CompleteFlag(cmd, flag, func() []cobra.Completion {
			config, err := c.loading().Load()
			if err != nil {
				return nil // the command will report the error
			}
			return names(config)
		})
	}
	for _, name := range []string{"namespace", "kanon-namespace"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Deprecated == "" {
			commandline.CompleteFlag(cmd, name, func() []cobra.Completion { return c.Names(cmd.Context(), "namespaces", "") })
		}
	}
}

// Names lists the names of a kind's objects in the cluster for shell completion; none if it does not answer.
func (c *Flags) Names(ctx context.Context, kind, namespace string) []cobra.Completion {
	config, err := c.Config()
	if err != nil {
		return nil // the command will report the error
	}
	config.Timeout = CompletionLimit
	return objectNames(ctx, c, config, kind, namespace)
}

// CompleteSlashed completes a flag with a value KIND/NAME from the cluster.
func CompleteSlashed(c *Flags, namespace *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		kind, _, named := strings.Cut(begun, "/")
		if named {
			names := c.Names(cmd.Context(), kind, *namespace)
			for i, name := range names {
				names[i] = kind + "/" + name
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		}
		config, err := c.Config()
		if err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		config.Timeout = CompletionLimit
		kinds := kindNames(config)
		for i, name := range kinds {
			kinds[i] = name + "/"
		}
		return kinds, cobra.ShellCompDirectiveNoSpace
	}
}

// CompletionLimit is how long shell completion waits for a cluster.
const CompletionLimit = 2 * time.Second

// CompleteObject completes the arguments KIND and NAME from the cluster.
func CompleteObject(c *Flags, namespace *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		config, err := c.Config()
		if err != nil || len(args) > 1 || len(args) == 1 && strings.Contains(args[0], "/") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		config.Timeout = CompletionLimit
		if len(args) == 0 {
			return kindNames(config), cobra.ShellCompDirectiveNoFileComp
		}
		return objectNames(cmd.Context(), c, config, args[0], *namespace), cobra.ShellCompDirectiveNoFileComp
	}
}

// kindNames lists the resources of a cluster, in the form that kubectl completes; none if it does not answer.
func kindNames(config *rest.Config) []cobra.Completion {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil
	}
	lists, _ := client.ServerPreferredResources() // includes the groups that answered
	var names []cobra.Completion
	for _, list := range lists {
		gv, _ := schema.ParseGroupVersion(list.GroupVersion)
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "list") {
				names = append(names, schema.GroupResource{Group: gv.Group, Resource: resource.Name}.String())
			}
		}
	}
	slices.Sort(names)
	return names
}

// objectNames lists the names of a kind's objects; none if the cluster does not answer.
func objectNames(ctx context.Context, c *Flags, config *rest.Config, kind, namespace string) []cobra.Completion {
	mapping, err1 := Kind(config, kind)
	client, err2 := dynamic.NewForConfig(config)
	if err1 != nil || err2 != nil {
		return nil
	}
	resource := dynamic.ResourceInterface(client.Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if namespace == "" {
			namespace = c.Namespace()
		}
		resource = client.Resource(mapping.Resource).Namespace(namespace)
	}
	list, err := resource.List(ctx, metav1.ListOptions{Limit: 500})
	if err != nil {
		return nil
	}
	names := make([]cobra.Completion, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].GetName()
	}
	return names
}
