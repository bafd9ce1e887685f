package inspecting

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/cmd/kanon/internal/connection"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/rulefiles"
	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/live/livediff"
	"kanon.dev/kanon/live/livepreview"
	"kanon.dev/kanon/offline/manifests"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/template"
)

// diffOptions are the flags of kanon diff.
type diffOptions struct {
	files     rulefiles.Filenames
	namespace string
	selector  string
	all       bool
	// everywhere is true for -A. It only states the default for several parents.
	everywhere bool
	// kanonNamespace is Kanon's own namespace.
	kanonNamespace string
	limits         template.Limits
	cluster        connection.Flags
}

func newDiffCommand() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff RULE [PARENT]",
		Short: "Show what a rule would change in a cluster",
		Long: `Show what kanon run would change in a cluster if the rule was as it is in the file
RULE: children that are created, changed, recreated and deleted, fields that patches
set, and the status, as a unified diff. Nothing is changed: the API server is asked
with server-side dry runs, so that defaults, admission and refusals count.

PARENT is the name of a parent in the cluster, or a file with one, which need not be in
the cluster yet. Of several parents, a summary is printed as well.

Left out are the labels and annotations by which Kanon knows its children, its own
conditions, and the values of Secrets. Nothing is shown for a suspended rule or
parent, and for a parent that is being deleted only what finalize does. Of a rule that
reads Secrets, all values of the cluster are hidden in what is removed or replaced; who
may not list Secrets does not see what is removed or replaced.

With --all and --selector, parents that the rule does not select are left out, unless
something is undone for them.

The exit code is 0 without differences, 1 with some, and more than 1 when something
went wrong, as of kubectl diff: also when the rule fails for a parent, or the API server
refuses what it renders.`,
		Example: `  # What the rule would change for one parent
  kanon diff rule.yaml storefront -n shop

  # What a new revision would change for all parents, before it is applied
  kanon diff rule.yaml --all

  # A parent that does not exist yet
  kanon diff rule.yaml parent.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.files.Given() {
				args = append([]string{""}, args...) // instead of RULE
			}
			switch selects := o.all || o.selector != ""; {
			case len(args) == 0:
				return exit.Usagef(cmd, "name a file with a rule")
			case len(args) == 1 && !selects:
				return exit.Usagef(cmd, "name a parent, or choose parents with --selector or --all")
			case len(args) > 2 || len(args) == 2 && selects:
				return exit.Usagef(cmd, "name one rule and one parent, or choose parents with --selector or --all")
			case o.everywhere && !selects:
				return exit.Usagef(cmd, "--all-namespaces goes with --selector or --all")
			case o.everywhere && o.namespace != "":
				return exit.Usagef(cmd, "--namespace and --all-namespaces exclude each other")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return exit.AsTrouble(o.compare(cmd, args)) },
	}
	flags := cmd.Flags()
	o.files.Add(cmd, "a rule, in place of RULE")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace of the parent; default: that of the kubeconfig, with --all and --selector all")
	flags.StringVarP(&o.selector, "selector", "l", "", "parents with these labels")
	flags.BoolVar(&o.all, "all", false, "all parents that the rule selects")
	flags.BoolVarP(&o.everywhere, "all-namespaces", "A", false, "with --all and --selector: parents in all namespaces, which is the default")
	flags.StringVar(&o.kanonNamespace, "kanon-namespace", engine.DefaultNamespace, "Kanon's own namespace")
	o.cluster.Add(flags, connection.Group)
	o.cluster.AddTimeout(flags, connection.Group)
	rulefiles.AddLimits(flags, &o.limits)
	o.cluster.Complete(cmd)
	cmd.ValidArgsFunction = o.complete
	return cmd
}

// complete completes PARENT with the rule's parents in the cluster, in addition to files.
func (o *diffOptions) complete(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	files, rest, err := o.files.Split(cmd, args)
	files = slices.Compact(files) // cobra parses the flags twice for completion
	if err != nil || len(files) != 1 || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	rules := rulefiles.Decoded(files[0])
	if len(rules) != 1 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	gvk := rules[0].ParentKind()
	return o.cluster.Names(cmd.Context(), strings.ToLower(gvk.Kind)+"."+gvk.Version+"."+gvk.Group, o.namespace), cobra.ShellCompDirectiveDefault
}

func (o *diffOptions) compare(cmd *cobra.Command, args []string) error {
	if err := rulefiles.CheckLimits(o.limits); err != nil {
		return exit.Usagef(cmd, "%w", err)
	}
	names, parentArgs, err := o.files.Split(cmd, args)
	if err != nil {
		return err
	}
	files, err := manifests.Read(names, cmd.InOrStdin())
	if err != nil {
		return exit.Usagef(cmd, "%w", err)
	}
	ctx := cmd.Context()
	config, err := o.cluster.Reach(ctx, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	kinds, err := manifests.ClusterKinds(ctx, config)
	if err != nil {
		return exit.OfCluster(config.Host, err)
	}
	program, err := o.program(cmd, strings.Join(names, ", "), files, kinds, config)
	if err != nil {
		return err
	}
	if program.Suspend {
		return terminal.Say(cmd.OutOrStdout(), "# the rule is suspended: Kanon changes nothing for it\n")
	}
	differ := livediff.New(livepreview.Options{Client: client, Kinds: kinds, Program: program, Namespace: o.kanonNamespace, Now: time.Now()})
	parents, err := o.parents(cmd, differ, program, parentArgs)
	if err != nil {
		return exit.OfCluster(config.Host, err)
	}
	return exit.OfCluster(config.Host, o.print(cmd, differ, program, parents))
}

// program compiles the one rule in the files.
func (o *diffOptions) program(cmd *cobra.Command, where string, files []manifests.File, kinds *manifests.Kinds, config *rest.Config) (*program.Program, error) {
	checked, err := rulefiles.Check(cmd, where, files, nil, kinds, rules.Options{Namespace: o.kanonNamespace, Limits: o.limits})
	if err != nil {
		return nil, err
	}
	if len(checked.Programs) != 1 {
		return nil, fmt.Errorf("%s has %d rules: name a file with one", where, len(checked.Programs))
	}
	held, err := rulefiles.RefusedDefinitions(cmd.Context(), config, checked, o.kanonNamespace)
	switch {
	case err != nil:
		return nil, exit.OfCluster(config.Host, err)
	case held.HasErrors(): // the rule would not run
		return nil, rulefiles.Refused(cmd, held)
	}
	return checked.Programs[0], nil
}

// parents are the parents that the arguments name, or that the flags choose.
func (o *diffOptions) parents(cmd *cobra.Command, differ *livediff.Differ, rule *program.Program, names []string) ([]*unstructured.Unstructured, error) {
	ctx := cmd.Context()
	if len(names) == 0 {
		return differ.Select(ctx, o.namespace, o.selector)
	}
	namespace := ""
	if rule.Parent.Namespaced {
		namespace = cmp.Or(o.namespace, o.cluster.Namespace())
	}
	if !manifests.IsFileName(names[0]) {
		return differ.Named(ctx, namespace, names[0])
	}
	files, err := manifests.Read(names, nil)
	if err != nil {
		return nil, exit.Usagef(cmd, "%w", err)
	}
	objects, err := manifests.DistinctObjects(files)
	if err != nil {
		return nil, rulefiles.AsGiven(cmd, err)
	}
	parents, err := differ.Written(ctx, namespace, objects)
	if err == nil && len(parents) == 0 {
		err = fmt.Errorf("there is no parent for the rule in %s: name a file with an object of kind %s in %s", names[0], rule.Parent.GVK.Kind, rule.Parent.GVK.GroupVersion())
	}
	return parents, err
}

// print prints the changes for each parent, and a summary if there are several.
func (o *diffOptions) print(cmd *cobra.Command, differ *livediff.Differ, rule *program.Program, parents []*unstructured.Unstructured) error {
	defer terminal.SayIfSlow(cmd.ErrOrStderr(), fmt.Sprintf("Comparing %s with the cluster…", diagnostic.Counted(len(parents), "parent")))()
	out := cmd.OutOrStdout()
	chosen := o.all || o.selector != ""
	summary := livediff.NewSummary(parents, rule.PruneLimit, o.selector != "" || o.namespace != "")
	var failures []string
	for _, parent := range parents {
		changes, err := differ.Diff(cmd.Context(), parent)
		if err != nil {
			return err
		}
		if !chosen || changes.Concerns() { // for a named parent, say that the rule does not select it
			if err := changes.Print(out, terminal.HasColors(out)); err != nil {
				return err
			}
		}
		failures = append(failures, changes.Failures()...)
		summary.Add(changes)
	}
	restored, notes, err := differ.Restored(cmd.Context())
	if err != nil {
		return err
	}
	if err := errors.Join(terminal.Warn(cmd.ErrOrStderr(), notes), livediff.PrintRestored(out, rule.Name, restored, terminal.HasColors(out))); err != nil {
		return err
	}
	summary.AddRestored(restored)
	if len(parents) > 1 || chosen {
		if err := terminal.Say(out, "# %s\n", summary); err != nil {
			return err
		}
	}
	switch {
	case len(failures) == 1:
		return errors.New(failures[0])
	case len(failures) > 1:
		return fmt.Errorf("%s; and %d more in the output", failures[0], len(failures)-1)
	case summary.Differs():
		return exit.ErrDifferences
	}
	return nil
}
