package inventory

import (
	"cmp"
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

	"kanon.dev/kanon/cmd/kanon/internal/connection"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/live/installed"
)

// TargetFlags choose the parents or rules that a command acts on.
type TargetFlags struct {
	All bool
	Flags
}

// Add declares the flags, and completes the arguments.
func (t *TargetFlags) Add(cmd *cobra.Command) {
	t.Flags.Add(cmd, "parents")
	cmd.Flags().BoolVar(&t.All, "all", false, "all objects of the kind in the namespace")
	objects := connection.CompleteObject(&t.Cluster, &t.Namespace)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch {
		case len(args) > 0 && isRuleKind(args[0]):
			return t.CompleteRules(cmd), cobra.ShellCompDirectiveNoFileComp
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

// isRuleKind reports whether an argument stands for Kanon's rules, wherever they are, and not for a kind of parents.
func isRuleKind(kind string) bool {
	return slices.Contains([]string{"rule", "rules", "rule.kanon.dev", "rules.kanon.dev"}, strings.ToLower(kind))
}

// Targets are the arguments: KIND NAME..., KIND/NAME..., or a KIND with --selector or --all.
type Targets struct {
	// Rules is true if Names are names of rules.
	Rules bool
	Names []string
	// objects are named parents. selected is the kind to select from if none are named.
	objects  []connection.Object
	selected string
}

// parse parses the arguments.
func (t *TargetFlags) parse(cmd *cobra.Command, args []string) (Targets, error) {
	var found Targets
	chooses := t.All || t.Selector != ""
	switch {
	case t.All && t.Selector != "":
		return found, exit.Usagef(cmd, "--all and --selector exclude each other")
	case len(args) == 0:
		return found, exit.Usagef(cmd, "name a parent as KIND NAME, or a rule as rule NAME")
	case chooses && (len(args) > 1 || strings.Contains(args[0], "/")):
		return found, exit.Usagef(cmd, "with --all or --selector, name a kind and no object")
	case chooses && isRuleKind(args[0]):
		return found, exit.Usagef(cmd, "name rules: --all and --selector choose parents")
	case chooses:
		found.selected = args[0]
		return found, nil
	case !strings.Contains(args[0], "/") && len(args) == 1:
		return found, exit.Usagef(cmd, "name an object of kind %s, or choose some with --selector or --all", args[0])
	}
	if kind, name, ok := strings.Cut(args[0], "/"); ok && isRuleKind(kind) {
		args = append([]string{kind, name}, args[1:]...)
	}
	if isRuleKind(args[0]) {
		found.Rules, found.Names = true, args[1:]
		return found, nil
	}
	for len(args) > 0 {
		object, rest, err := connection.ParseObject(cmd, args)
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

// Target is a parent that a command acts on.
type Target struct {
	Object   *unstructured.Unstructured
	Resource dynamic.ResourceInterface
}

// Parents reads the named or chosen parents. It returns an error if no rule is for their kind.
func (t *TargetFlags) Parents(ctx context.Context, cmd *cobra.Command, there *Live, named Targets) ([]Target, error) {
	query, err := t.Query(cmd)
	if err != nil {
		return nil, err
	}
	if named.selected != "" {
		return t.choose(ctx, there, named.selected, query)
	}
	var found []Target
	for _, arg := range named.objects {
		mapping, err := t.kind(there, arg.Kind)
		if err != nil {
			return nil, err
		}
		object, err := arg.Read(ctx, &t.Cluster, there.Config, there.Client, t.Namespace)
		if err != nil {
			return nil, err
		}
		found = append(found, targetOf(there, mapping, *object))
	}
	return found, nil
}

// kind resolves a kind of parents. It returns an error if no rule is for the kind.
func (t *TargetFlags) kind(there *Live, arg string) (*meta.RESTMapping, error) {
	mapping, err := connection.Kind(there.Config, arg)
	if err != nil {
		return nil, err
	}
	if kind := mapping.GroupVersionKind.GroupKind(); len(there.Rules.OfParents(kind)) == 0 {
		return nil, fmt.Errorf("no rule is for parents of kind %s; kanon get rules lists all", kind)
	}
	return mapping, nil
}

// choose lists the objects of a kind that match a query.
func (t *TargetFlags) choose(ctx context.Context, there *Live, kind string, query installed.Query) ([]Target, error) {
	mapping, err := t.kind(there, kind)
	if err != nil {
		return nil, err
	}
	resource := dynamic.ResourceInterface(there.Client.Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && query.Namespace != "" {
		resource = there.Client.Resource(mapping.Resource).Namespace(query.Namespace)
	}
	list, err := resource.List(ctx, metav1.ListOptions{LabelSelector: t.Selector})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", mapping.Resource.Resource, err)
	}
	if len(list.Items) == 0 {
		in := ""
		if query.Namespace != "" && mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			in = " in namespace " + query.Namespace + "; " + cmp.Or(installed.NoNamespace(ctx, there.Client, query.Namespace), "-A asks for all namespaces")
		}
		return nil, fmt.Errorf("%s%s", installed.NoneFound(mapping.GroupVersionKind.Kind, t.Selector), in)
	}
	found := make([]Target, len(list.Items))
	for i := range list.Items {
		found[i] = targetOf(there, mapping, list.Items[i])
	}
	return found, nil
}

// Begin parses the arguments, and reads the rules of the cluster.
func (t *TargetFlags) Begin(cmd *cobra.Command, args []string, timeout time.Duration) (Targets, *Live, error) {
	named, err := t.parse(cmd, args)
	if err != nil {
		return named, nil, err
	}
	if timeout <= 0 {
		return named, nil, exit.Usagef(cmd, "--timeout must be more than 0; --wait=false does not wait")
	}
	there, err := t.Reach(cmd.Context(), cmd.ErrOrStderr())
	return named, there, err
}

func targetOf(there *Live, mapping *meta.RESTMapping, object unstructured.Unstructured) Target {
	resource := dynamic.ResourceInterface(there.Client.Resource(mapping.Resource))
	if namespace := object.GetNamespace(); namespace != "" {
		resource = there.Client.Resource(mapping.Resource).Namespace(namespace)
	}
	return Target{Object: &object, Resource: resource}
}
