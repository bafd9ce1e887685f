package cli

import (
	"cmp"
	"context"
	"errors"
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

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/rules/diagnostic"
)

// ObjectArg is an object named by arguments as in kubectl: KIND NAME or KIND/NAME.
type ObjectArg struct {
	// Kind is a resource, its singular or short name, or a kind, optionally with .GROUP or .VERSION.GROUP.
	Kind, Name string
}

// ParseObject parses KIND NAME or KIND/NAME. rest are the remaining arguments.
func ParseObject(cmd *cobra.Command, args []string) (o ObjectArg, rest []string, err error) {
	switch {
	case len(args) == 0:
		return o, nil, Usagef(cmd, "name an object, as KIND NAME or KIND/NAME")
	case strings.Contains(args[0], "/"):
		o.Kind, o.Name, _ = strings.Cut(args[0], "/")
		rest = args[1:]
	case len(args) == 1:
		return o, nil, Usagef(cmd, "name an object of kind %s, as KIND NAME or KIND/NAME", args[0])
	default:
		o.Kind, o.Name, rest = args[0], args[1], args[2:]
	}
	if o.Kind == "" || o.Name == "" || strings.Contains(o.Name, "/") {
		return o, nil, Usagef(cmd, "%q names no object: it is KIND NAME or KIND/NAME", strings.Join(args[:len(args)-len(rest)], " "))
	}
	return o, rest, nil
}

// Place is a kind of the cluster, in the namespace that the flags choose.
type Place struct {
	Resource dynamic.ResourceInterface
	Kind     schema.GroupVersionKind
	// Namespace is empty for a cluster-scoped kind, and for all namespaces.
	Namespace string

	mapping *meta.RESTMapping
	there   *Live
}

// Place finds a kind by an argument, in one namespace. The error says that the cluster does not have the kind.
func (l *Live) Place(kind string) (*Place, error) {
	mapping, err := ResolveKind(l.Config, kind)
	if err != nil {
		return nil, err
	}
	return (&Place{mapping: mapping, there: l, Kind: mapping.GroupVersionKind}).In(cmp.Or(l.Flags.Namespace, l.Flags.Cluster.Namespace())), nil
}

// In returns the place in a namespace; empty for all.
func (p *Place) In(namespace string) *Place {
	other := *p
	if other.Namespace = namespace; p.mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		other.Namespace = ""
	}
	other.Resource = p.there.Client.Resource(p.mapping.Resource).Namespace(other.Namespace)
	return &other
}

// Read reads an object. The error says what may have been meant if it does not exist; apierrors.IsNotFound is true for
// it.
func (p *Place) Read(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	object, err := p.Resource.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		advice := ""
		if p.Namespace != "" {
			advice = "choose another namespace with -n"
		}
		absent := apierrors.NewNotFound(schema.GroupResource{}, name)
		absent.ErrStatus.Message = live.Absent(ctx, p.there.Client, p.Resource, p.Kind.Kind, p.Namespace, name, advice)
		return nil, absent
	case err != nil:
		return nil, fmt.Errorf("get %s %s: %w", p.Kind.Kind, name, err)
	}
	return object, nil
}

// Select reads the objects that match a label selector. If there are none, it returns an error.
func (p *Place) Select(ctx context.Context, selector string) ([]*unstructured.Unstructured, error) {
	list, err := p.Resource.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", p.Kind.Kind, err)
	}
	if len(list.Items) == 0 {
		text := live.NoneFound(p.Kind.Kind, selector)
		if p.Namespace != "" {
			text += " in " + live.NothingIn(ctx, p.there.Client, p.Namespace)
		}
		return nil, errors.New(text)
	}
	objects := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		objects[i] = &list.Items[i]
	}
	return objects, nil
}

// Read reads the object that an argument names.
func (l *Live) Read(ctx context.Context, arg ObjectArg) (*unstructured.Unstructured, error) {
	place, err := l.Place(arg.Kind)
	if err != nil {
		return nil, err
	}
	return place.Read(ctx, arg.Name)
}

// ResolveKind resolves a kind argument by the rules of kubectl.
func ResolveKind(config *rest.Config, arg string) (*meta.RESTMapping, error) {
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
				name := schema.GroupResource{Group: group.Group.Name, Resource: r.Name}.String()
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
