package cli

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kanon.dev/kanon/author/live"
)

// Completions say nothing of errors: the command will report them.

// complete registers completions for the flags that name parts of the kubeconfig and namespaces.
func (c *ClusterFlags) complete(cmd *cobra.Command) {
	for flag, names := range map[string]func(*clientcmdapi.Config) []string{
		"context": func(config *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(config.Contexts)) },
		"cluster": func(config *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(config.Clusters)) },
		"user":    func(config *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(config.AuthInfos)) },
	} {
		CompleteFlag(cmd, flag, func() []cobra.Completion {
			config, err := c.loading().Load()
			if err != nil {
				return nil
			}
			return names(config)
		})
	}
	for _, name := range []string{"namespace", "kanon-namespace"} {
		if flag := cmd.Flags().Lookup(name); flag != nil {
			CompleteFlag(cmd, name, func() []cobra.Completion { return (&LiveFlags{Cluster: *c}).Names(cmd, "namespaces") })
		}
	}
}

// completionLimit is how long shell completion waits for a cluster.
const completionLimit = 2 * time.Second

// ForCompletion connects to the cluster for shell completion.
func (l *LiveFlags) ForCompletion() (*Live, error) {
	config, err := l.Cluster.Config()
	if err != nil {
		return nil, err
	}
	config.Timeout = completionLimit
	return l.connect(config)
}

// Names lists the names of a kind's objects in the cluster; none if it does not answer.
func (l *LiveFlags) Names(cmd *cobra.Command, kind string) (names []cobra.Completion) {
	there, err := l.ForCompletion()
	if err != nil {
		return nil
	}
	place, err := there.Place(kind)
	if err != nil {
		return nil
	}
	list, err := place.Resource.List(cmd.Context(), metav1.ListOptions{Limit: 500})
	if err != nil {
		return nil
	}
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	return names
}

// kinds lists the resources of a cluster, in the form that kubectl completes; none if it does not answer.
func (l *LiveFlags) kinds() (names []cobra.Completion) {
	there, err := l.ForCompletion()
	if err != nil {
		return nil
	}
	client, err := discovery.NewDiscoveryClientForConfig(there.Config)
	if err != nil {
		return nil
	}
	lists, _ := client.ServerPreferredResources() // includes the groups that answered
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

// CompleteObject completes the arguments KIND and NAME from the cluster.
func (l *LiveFlags) CompleteObject(cmd *cobra.Command, args []string, _ string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		found = l.kinds()
	} else if len(args) == 1 && !strings.Contains(args[0], "/") {
		found = l.Names(cmd, args[0])
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// CompleteSlashed completes a flag with a value KIND/NAME from the cluster.
func (l *LiveFlags) CompleteSlashed(cmd *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	kind, _, named := strings.Cut(begun, "/")
	if named {
		for _, name := range l.Names(cmd, kind) {
			found = append(found, kind+"/"+name)
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
	for _, kind := range l.kinds() {
		found = append(found, kind+"/")
	}
	if len(found) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return found, cobra.ShellCompDirectiveNoSpace
}

// Installed lists the cluster's rules; none if it does not answer.
func (l *LiveFlags) Installed(cmd *cobra.Command) *live.Rules {
	there, err := l.ForCompletion()
	if err != nil {
		return &live.Rules{}
	}
	rules, err := live.ListRules(cmd.Context(), there.Client, l.KanonNamespace)
	if err != nil {
		return &live.Rules{}
	}
	return rules
}

// CompleteRules completes the names of the cluster's rules.
func (l *LiveFlags) CompleteRules(cmd *cobra.Command) []cobra.Completion {
	var names []cobra.Completion
	for _, rule := range l.Installed(cmd).All {
		name := rule.Name.Name
		if rule.Name.Namespace != l.KanonNamespace {
			name = rule.Name.String()
		}
		names = append(names, cobra.CompletionWithDesc(name, string(rule.State)+", for "+rule.ParentKind().Kind))
	}
	return slices.Compact(names)
}
