package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kanon.dev/kanon/author/live"
)

// TargetFlags choose the parents or rules that a command acts on.
type TargetFlags struct {
	All bool
	LiveFlags
}

// Add declares the flags, and completes the arguments.
func (t *TargetFlags) Add(cmd *cobra.Command) {
	t.LiveFlags.Add(cmd, "parents")
	cmd.Flags().BoolVar(&t.All, "all", false, "all objects of the kind in the namespace")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch {
		case len(args) > 0 && isRuleKind(args[0]):
			return t.CompleteRules(cmd), cobra.ShellCompDirectiveNoFileComp
		case len(args) > 1:
			args = args[:1]
		}
		found, directive := t.CompleteObject(cmd, args, toComplete)
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
	objects  []ObjectArg
	selected string
}

// parse parses the arguments.
func (t *TargetFlags) parse(cmd *cobra.Command, args []string) (Targets, error) {
	var found Targets
	chooses := t.All || t.Selector != ""
	switch {
	case t.All && t.Selector != "":
		return found, Usagef(cmd, "--all and --selector exclude each other")
	case len(args) == 0:
		return found, Usagef(cmd, "name a parent as KIND NAME, or a rule as rule NAME")
	case chooses && (len(args) > 1 || strings.Contains(args[0], "/")):
		return found, Usagef(cmd, "with --all or --selector, name a kind and no object")
	case chooses && isRuleKind(args[0]):
		return found, Usagef(cmd, "name rules: --all and --selector choose parents")
	case chooses:
		found.selected = args[0]
		return found, nil
	case !strings.Contains(args[0], "/") && len(args) == 1:
		return found, Usagef(cmd, "name an object of kind %s, or choose some with --selector or --all", args[0])
	}
	if kind, name, ok := strings.Cut(args[0], "/"); ok && isRuleKind(kind) {
		args = append([]string{kind, name}, args[1:]...)
	}
	if isRuleKind(args[0]) {
		found.Rules, found.Names = true, args[1:]
		return found, nil
	}
	for len(args) > 0 {
		object, rest, err := ParseObject(cmd, args)
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

// Parents reads the named or chosen parents. It returns an error if no rule is for their kind.
func (t *TargetFlags) Parents(cmd *cobra.Command, there *Live, named Targets) ([]live.Target, error) {
	query, err := t.Query(cmd)
	if err != nil {
		return nil, err
	}
	if named.selected != "" {
		return t.choose(cmd.Context(), there, named.selected, query)
	}
	var found []live.Target
	for _, arg := range named.objects {
		place, err := placeOfParents(there, arg.Kind)
		if err != nil {
			return nil, err
		}
		object, err := place.Read(cmd.Context(), arg.Name)
		if err != nil {
			return nil, err
		}
		found = append(found, live.Target{Object: object, Resource: place.Resource})
	}
	return found, nil
}

// placeOfParents finds a kind of parents. It returns an error if no rule is for the kind.
func placeOfParents(there *Live, arg string) (*Place, error) {
	place, err := there.Place(arg)
	if err != nil {
		return nil, err
	}
	if kind := place.Kind.GroupKind(); len(there.Rules.OfParents(kind)) == 0 {
		return nil, fmt.Errorf("no rule is for parents of kind %s; kanon get rules lists all", kind)
	}
	return place, nil
}

// choose lists the objects of a kind that match a query.
func (t *TargetFlags) choose(ctx context.Context, there *Live, kind string, query live.Query) ([]live.Target, error) {
	place, err := placeOfParents(there, kind)
	if err != nil {
		return nil, err
	}
	place = place.In(query.Namespace)
	objects, err := place.Select(ctx, t.Selector)
	if err != nil {
		return nil, err
	}
	found := make([]live.Target, len(objects))
	for i, object := range objects {
		found[i] = live.Target{Object: object, Resource: place.In(object.GetNamespace()).Resource}
	}
	return found, nil
}

// Begin parses the arguments, and reads the rules of the cluster.
func (t *TargetFlags) Begin(cmd *cobra.Command, args []string) (Targets, *Live, error) {
	named, err := t.parse(cmd, args)
	if err != nil {
		return named, nil, err
	}
	there, err := t.Reach(cmd)
	return named, there, err
}
