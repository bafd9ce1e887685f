package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/installed"
)

// targetFlags choose parents, or rules, that a command does something to.
type targetFlags struct {
	all  bool
	live liveFlags
}

func (t *targetFlags) add(cmd *cobra.Command) {
	t.live.add(cmd, "parents")
	cmd.Flags().BoolVar(&t.all, "all", false, "all objects of the kind in the namespace")
	objects := completeObject(&t.live.cluster, &t.live.namespace)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch {
		case len(args) > 0 && isRuleKind(args[0]):
			return t.live.completeRules(cmd), cobra.ShellCompDirectiveNoFileComp
		case len(args) > 1:
			args = args[:1]
		}
		found, directive := objects(cmd, args, toComplete)
		if len(args) == 0 {
			found = append([]cobra.Completion{"rule"}, found...)
		}
		return found, directive
	}
}

// isRuleKind reports whether an argument names rules, wherever they are, and not a kind of parents.
func isRuleKind(kind string) bool {
	return slices.Contains([]string{"rule", "rules", "rule.kanon.dev", "rules.kanon.dev"}, strings.ToLower(kind))
}

// targets are what the arguments name: KIND NAME..., KIND/NAME..., or a KIND with --selector or --all.
type targets struct {
	// rules is true if names are those of rules.
	rules bool
	names []string
	// objects are parents by name; selected is their kind where there are no names.
	objects  []objectArg
	selected string
}

// parse reads the arguments.
func (t *targetFlags) parse(cmd *cobra.Command, args []string) (targets, error) {
	var found targets
	chooses := t.all || t.live.selector != ""
	switch {
	case t.all && t.live.selector != "":
		return found, usageErrorf(cmd, "--all and --selector exclude each other")
	case len(args) == 0:
		return found, usageErrorf(cmd, "name a parent as KIND NAME, or a rule as rule NAME")
	case chooses && (len(args) > 1 || strings.Contains(args[0], "/")):
		return found, usageErrorf(cmd, "with --all or --selector, name a kind and no object")
	case chooses && isRuleKind(args[0]):
		return found, usageErrorf(cmd, "name rules: --all and --selector choose parents")
	case chooses:
		found.selected = args[0]
		return found, nil
	case !strings.Contains(args[0], "/") && len(args) == 1:
		return found, usageErrorf(cmd, "name an object of kind %s, or choose some with --selector or --all", args[0])
	}
	if kind, name, ok := strings.Cut(args[0], "/"); ok && isRuleKind(kind) {
		args = append([]string{kind, name}, args[1:]...)
	}
	if isRuleKind(args[0]) {
		found.rules, found.names = true, args[1:]
		return found, nil
	}
	for len(args) > 0 {
		object, rest, err := parseObjectArg(cmd, args)
		if err != nil {
			return found, err
		}
		if found.objects = append(found.objects, object); len(rest) > 0 && !strings.Contains(args[0], "/") {
			rest = append([]string{args[0]}, rest...) // KIND NAME NAME
		}
		args = rest
	}
	return found, nil
}

// target is a parent that something is done to.
type target struct {
	object   *unstructured.Unstructured
	resource dynamic.ResourceInterface
}

// parents reads the parents that are named or chosen. They are of a kind that rules are for.
func (t *targetFlags) parents(ctx context.Context, cmd *cobra.Command, there *live, named targets) ([]target, error) {
	query, err := t.live.query(cmd)
	if err != nil {
		return nil, err
	}
	if named.selected != "" {
		return t.choose(ctx, there, named.selected, query)
	}
	var found []target
	for _, arg := range named.objects {
		mapping, err := t.kind(there, arg.kind)
		if err != nil {
			return nil, err
		}
		object, err := arg.read(ctx, &t.live.cluster, there.config, there.client, t.live.namespace)
		if err != nil {
			return nil, err
		}
		found = append(found, targetOf(there, mapping, *object))
	}
	return found, nil
}

// kind is a kind of parents. The error says that no rule is for it.
func (t *targetFlags) kind(there *live, arg string) (*meta.RESTMapping, error) {
	mapping, err := resolveKind(there.config, arg)
	if err != nil {
		return nil, err
	}
	if kind := mapping.GroupVersionKind.GroupKind(); len(there.rules.OfParents(kind)) == 0 {
		return nil, fmt.Errorf("no rule is for parents of kind %s; kanon get rules lists all", kind)
	}
	return mapping, nil
}

// choose are the objects of a kind that a query chooses.
func (t *targetFlags) choose(ctx context.Context, there *live, kind string, query installed.Query) ([]target, error) {
	mapping, err := t.kind(there, kind)
	if err != nil {
		return nil, err
	}
	resource := dynamic.ResourceInterface(there.client.Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && query.Namespace != "" {
		resource = there.client.Resource(mapping.Resource).Namespace(query.Namespace)
	}
	list, err := resource.List(ctx, metav1.ListOptions{LabelSelector: t.live.selector})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", mapping.Resource.Resource, err)
	}
	if len(list.Items) == 0 {
		in := ""
		if query.Namespace != "" && mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			in = " in namespace " + query.Namespace + "; -A asks for all namespaces"
		}
		return nil, fmt.Errorf("%s%s", noneFound(mapping.GroupVersionKind.Kind, t.live.selector), in)
	}
	found := make([]target, len(list.Items))
	for i := range list.Items {
		found[i] = targetOf(there, mapping, list.Items[i])
	}
	return found, nil
}

// noneFound says that the cluster has no object of a kind, or none with the labels that were asked for.
func noneFound(kind, selector string) string {
	if selector != "" {
		return fmt.Sprintf("no %s has the labels %s", kind, selector)
	}
	return "there is no " + kind
}

// begin reads the arguments, and the rules of the cluster.
func (t *targetFlags) begin(cmd *cobra.Command, args []string, timeout time.Duration) (targets, *live, error) {
	named, err := t.parse(cmd, args)
	if err != nil {
		return named, nil, err
	}
	if timeout <= 0 {
		return named, nil, usageErrorf(cmd, "--timeout must be more than 0; --wait=false does not wait")
	}
	there, err := t.live.reach(cmd.Context())
	return named, there, err
}

func targetOf(there *live, mapping *meta.RESTMapping, object unstructured.Unstructured) target {
	resource := dynamic.ResourceInterface(there.client.Resource(mapping.Resource))
	if namespace := object.GetNamespace(); namespace != "" {
		resource = there.client.Resource(mapping.Resource).Namespace(namespace)
	}
	return target{object: &object, resource: resource}
}
