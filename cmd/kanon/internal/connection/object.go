package connection

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

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

	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/live/installed"
	"kanon.dev/kanon/rules/diagnostic"
)

// Object is an object named by arguments as in kubectl: KIND NAME or KIND/NAME.
type Object struct {
	// Kind is a resource, its singular or short name, or a kind, optionally with .GROUP or .VERSION.GROUP.
	Kind, Name string
}

// ParseObject parses KIND NAME or KIND/NAME. rest are the remaining arguments.
func ParseObject(cmd *cobra.Command, args []string) (o Object, rest []string, err error) {
	switch {
	case len(args) == 0:
		return o, nil, exit.Usagef(cmd, "name an object, as KIND NAME or KIND/NAME")
	case strings.Contains(args[0], "/"):
		o.Kind, o.Name, _ = strings.Cut(args[0], "/")
		rest = args[1:]
	case len(args) == 1:
		return o, nil, exit.Usagef(cmd, "name an object of kind %s, as KIND NAME or KIND/NAME", args[0])
	default:
		o.Kind, o.Name, rest = args[0], args[1], args[2:]
	}
	if o.Kind == "" || o.Name == "" || strings.Contains(o.Name, "/") {
		return o, nil, exit.Usagef(cmd, "%q names no object: it is KIND NAME or KIND/NAME", strings.Join(args[:len(args)-len(rest)], " "))
	}
	return o, rest, nil
}

// Read reads the object once; see Reader.
func (o Object) Read(ctx context.Context, c *Flags, config *rest.Config, client dynamic.Interface, namespace string) (*unstructured.Unstructured, error) {
	reader, err := o.Reader(c, config, client, namespace)
	if err != nil {
		return nil, err
	}
	return reader(ctx)
}

// Reader returns a function that reads the object. An empty namespace is that of the kubeconfig. The error says that
// the cluster does not have the kind.
func (o Object) Reader(c *Flags, config *rest.Config, client dynamic.Interface, namespace string) (func(context.Context) (*unstructured.Unstructured, error), error) {
	kind, err := Kind(config, o.Kind)
	if err != nil {
		return nil, err
	}
	resource, advice := dynamic.ResourceInterface(client.Resource(kind.Resource)), ""
	if kind.Scope.Name() != meta.RESTScopeNameNamespace {
		namespace = ""
	} else {
		if namespace == "" {
			namespace = c.Namespace()
		}
		resource = client.Resource(kind.Resource).Namespace(namespace)
		advice = "choose another namespace with -n"
	}
	return func(ctx context.Context) (*unstructured.Unstructured, error) {
		object, err := resource.Get(ctx, o.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil, &absentError{text: installed.Absent(ctx, client, resource, kind.GroupVersionKind.Kind, namespace, o.Name, advice), err: err}
		case err != nil:
			return nil, fmt.Errorf("get %s %s: %w", kind.GroupVersionKind.Kind, o.Name, err)
		}
		return object, nil
	}, nil
}

// absentError reports that an object does not exist, with a more helpful message than the API server's.
type absentError struct {
	text string
	err  error
}

func (e *absentError) Error() string { return e.text }
func (e *absentError) Unwrap() error { return e.err }

// Kind resolves a kind argument by the rules of kubectl.
func Kind(config *rest.Config, arg string) (*meta.RESTMapping, error) {
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
		if near := nearKind(groups, arg); near != "" {
			return nil, fmt.Errorf("the cluster has no kind %q (did you mean %s?)", arg, near)
		}
		return nil, fmt.Errorf("the cluster has no kind %q; 'kubectl api-resources' lists the kinds that it has", arg)
	case err != nil:
		return nil, fmt.Errorf("find the kind %q: %w", arg, err)
	}
	return mapping, nil
}

// nearKind is the resource with the most similar name to an unknown kind; empty if there is none.
func nearKind(groups []*restmapper.APIGroupResources, arg string) string {
	resources := make(map[string]string) // by all names
	for _, group := range groups {
		for _, version := range group.VersionedResources {
			for _, r := range version {
				if strings.Contains(r.Name, "/") {
					continue // a subresource
				}
				name := r.Name
				if group.Group.Name != "" {
					name += "." + group.Group.Name
				}
				for _, known := range []string{r.Name, r.SingularName, strings.ToLower(r.Kind), name} {
					if resources[known] == "" || len(name) < len(resources[known]) {
						resources[known] = name
					}
				}
			}
		}
	}
	near, _ := diagnostic.Nearest(strings.ToLower(arg), slices.Collect(maps.Keys(resources)))
	return resources[near]
}

// mappingOf resolves an argument as a resource, or else as a kind.
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
