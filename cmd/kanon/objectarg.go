package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// objectArg is an object as an argument names it, as those of kubectl do: KIND NAME, or KIND/NAME.
type objectArg struct {
	// kind is a resource, its singular or short name, or a kind; with .GROUP or .VERSION.GROUP where that is wanted.
	kind, name string
}

// parseObjectArg reads KIND NAME or KIND/NAME. rest are the arguments after that.
func parseObjectArg(cmd *cobra.Command, args []string) (o objectArg, rest []string, err error) {
	switch {
	case len(args) == 0:
		return o, nil, usageErrorf(cmd, "name an object, as KIND NAME or KIND/NAME")
	case strings.Contains(args[0], "/"):
		o.kind, o.name, _ = strings.Cut(args[0], "/")
		rest = args[1:]
	case len(args) == 1:
		return o, nil, usageErrorf(cmd, "name an object of kind %s, as KIND NAME or KIND/NAME", args[0])
	default:
		o.kind, o.name, rest = args[0], args[1], args[2:]
	}
	if o.kind == "" || o.name == "" || strings.Contains(o.name, "/") {
		return o, nil, usageErrorf(cmd, "%q names no object: it is KIND NAME or KIND/NAME", strings.Join(args[:len(args)-len(rest)], " "))
	}
	return o, rest, nil
}

// read reads the object once; see reader.
func (o objectArg) read(ctx context.Context, c *clusterFlags, config *rest.Config, client dynamic.Interface, namespace string) (*unstructured.Unstructured, error) {
	reader, err := o.reader(c, config, client, namespace)
	if err != nil {
		return nil, err
	}
	return reader(ctx)
}

// reader reads the object as often as it is called. An empty namespace is the one of the kubeconfig. The error says that the cluster has no such kind.
func (o objectArg) reader(c *clusterFlags, config *rest.Config, client dynamic.Interface, namespace string) (func(context.Context) (*unstructured.Unstructured, error), error) {
	kind, err := resolveKind(config, o.kind)
	if err != nil {
		return nil, err
	}
	resource, where := dynamic.ResourceInterface(client.Resource(kind.Resource)), ""
	if kind.Scope.Name() == meta.RESTScopeNameNamespace {
		if namespace == "" {
			namespace = c.namespace()
		}
		resource = client.Resource(kind.Resource).Namespace(namespace)
		where = fmt.Sprintf(" in namespace %q: choose another namespace with -n", namespace)
	}
	return func(ctx context.Context) (*unstructured.Unstructured, error) {
		object, err := resource.Get(ctx, o.name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil, &absentError{text: fmt.Sprintf("%s %s does not exist%s", kind.GroupVersionKind.Kind, o.name, where), err: err}
		case err != nil:
			return nil, fmt.Errorf("get %s %s: %w", kind.GroupVersionKind.Kind, o.name, err)
		}
		return object, nil
	}, nil
}

// absentError says that an object does not exist, in other words than the API server.
type absentError struct {
	text string
	err  error
}

func (e *absentError) Error() string { return e.text }
func (e *absentError) Unwrap() error { return e.err }

// resolveKind finds the kind that an argument names, by the rules of kubectl.
func resolveKind(config *rest.Config, arg string) (*meta.RESTMapping, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	cached := memory.NewMemCacheClient(client)
	groups, err := restmapper.GetAPIGroupResources(cached)
	if err != nil {
		return nil, fmt.Errorf("ask the cluster for its kinds: %w", err)
	}
	mapping, err := mappingOf(restmapper.NewShortcutExpander(restmapper.NewDiscoveryRESTMapper(groups), cached, nil), arg)
	switch {
	case meta.IsNoMatchError(err):
		return nil, fmt.Errorf("the cluster has no kind %q; 'kubectl api-resources' lists the kinds that it has", arg)
	case err != nil:
		return nil, fmt.Errorf("find the kind %q: %w", arg, err)
	}
	return mapping, nil
}

// mappingOf takes an argument for a resource first, and for a kind where there is no such resource.
func mappingOf(mapper meta.RESTMapper, arg string) (*meta.RESTMapping, error) {
	full, resource := schema.ParseResourceArg(strings.ToLower(arg))
	var candidates []schema.GroupVersionResource
	if full != nil {
		candidates = append(candidates, *full)
	}
	for _, candidate := range append(candidates, resource.WithVersion("")) {
		if gvk, err := mapper.KindFor(candidate); err == nil {
			return mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		}
	}
	exact, kind := schema.ParseKindArg(arg)
	if exact != nil {
		if mapping, err := mapper.RESTMapping(exact.GroupKind(), exact.Version); err == nil {
			return mapping, nil
		}
	}
	return mapper.RESTMapping(kind)
}

// completionLimit is how long a shell waits for names of a cluster.
const completionLimit = 2 * time.Second

// completeObject completes KIND and NAME from the cluster.
func completeObject(c *clusterFlags, namespace *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		config, err := c.config()
		if err != nil || len(args) > 1 || len(args) == 1 && strings.Contains(args[0], "/") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		config.Timeout = completionLimit
		if len(args) == 0 {
			return kindNames(config), cobra.ShellCompDirectiveNoFileComp
		}
		return objectNames(cmd.Context(), c, config, args[0], *namespace), cobra.ShellCompDirectiveNoFileComp
	}
}

// kindNames are the kinds of a cluster as kubectl completes them; none if it does not answer.
func kindNames(config *rest.Config) []cobra.Completion {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil
	}
	lists, _ := client.ServerPreferredResources() // what it has of those that answered
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

// objectNames are the names of the objects of a kind; none if the cluster does not answer.
func objectNames(ctx context.Context, c *clusterFlags, config *rest.Config, kind, namespace string) []cobra.Completion {
	mapping, err1 := resolveKind(config, kind)
	client, err2 := dynamic.NewForConfig(config)
	if err1 != nil || err2 != nil {
		return nil
	}
	resource := dynamic.ResourceInterface(client.Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if namespace == "" {
			namespace = c.namespace()
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
