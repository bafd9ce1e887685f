package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/author/live/livediff"
	"kanon.dev/kanon/author/live/livepreview"
	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
)

// diffOptions are the flags of kanon diff.
type diffOptions struct {
	files cli.Filenames
	all   bool
	// live.AllNamespaces only states the default for several parents.
	live cli.LiveFlags
}

func newDiffCommand() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff RULE [PARENT]",
		Short: "Show what a rule would change in a cluster",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.files.Given() {
				args = append([]string{""}, args...) // instead of RULE
			}
			switch selects := o.all || o.live.Selector != ""; {
			case len(args) == 0:
				return cli.Usagef(cmd, "name a file with a rule")
			case len(args) == 1 && !selects:
				return cli.Usagef(cmd, "name a parent, or choose parents with --selector or --all")
			case len(args) > 2 || len(args) == 2 && selects:
				return cli.Usagef(cmd, "name one rule and one parent, or choose parents with --selector or --all")
			case o.live.AllNamespaces && !selects:
				return cli.Usagef(cmd, "--all-namespaces goes with --selector or --all")
			case o.live.AllNamespaces && o.live.Namespace != "":
				return cli.Usagef(cmd, "--namespace and --all-namespaces exclude each other")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return cli.AsTrouble(o.compare(cmd, args)) },
	}
	flags := cmd.Flags()
	o.files.Add(cmd, "a rule, in place of RULE")
	flags.BoolVar(&o.all, "all", false, "all parents that the rule selects")
	o.live.Add(cmd, "parents")
	flags.Lookup("namespace").Usage += ", with --all and --selector all"
	flags.Lookup("all-namespaces").Usage = "with --all and --selector: parents in all namespaces, which is the default"
	cli.AddLimits(flags, &o.live.Limits)
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
	rules := cli.DecodedRules(files[0])
	if len(rules) != 1 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return o.live.Names(cmd, kindArg(rules[0].ParentKind())), cobra.ShellCompDirectiveDefault
}

func (o *diffOptions) compare(cmd *cobra.Command, args []string) error {
	names, parentArgs, err := o.files.Split(cmd, args)
	if err != nil {
		return err
	}
	files, err := manifests.Read(names, cmd.InOrStdin())
	if err != nil {
		return cli.Usagef(cmd, "%w", err)
	}
	ctx := cmd.Context()
	there, err := o.live.Open(cmd)
	if err != nil {
		return err
	}
	kinds, err := there.Kinds(ctx)
	if err != nil {
		return err
	}
	program, err := o.program(cmd, strings.Join(names, ", "), files, kinds, there.Config)
	if err != nil {
		return err
	}
	if program.Suspend {
		return cli.Say(cmd.OutOrStdout(), "# the rule is suspended: Kanon changes nothing for it\n")
	}
	differ := livediff.New(livepreview.Options{Client: there.Client, Kinds: kinds, Program: program, Namespace: o.live.KanonNamespace, Now: time.Now()})
	parents, err := o.parents(cmd, there, differ, program, parentArgs)
	if err != nil {
		return err
	}
	return o.print(cmd, differ, program, parents)
}

// program compiles the one rule in the files.
func (o *diffOptions) program(cmd *cobra.Command, where string, files []manifests.File, kinds *manifests.Kinds, config *rest.Config) (*program.Program, error) {
	checked, err := cli.CheckRules(cmd, where, files, nil, kinds, o.live.Options())
	if err != nil {
		return nil, err
	}
	if len(checked.Programs) != 1 {
		return nil, fmt.Errorf("%s has %d rules: name a file with one", where, len(checked.Programs))
	}
	held, err := cli.RefusedDefinitions(cmd.Context(), config, checked, o.live.KanonNamespace)
	switch {
	case err != nil:
		return nil, err
	case held.HasErrors(): // the rule would not run
		return nil, cli.RefusedRules(cmd, held)
	}
	return checked.Programs[0], nil
}

// parents are the parents that the arguments name, or that the flags choose.
func (o *diffOptions) parents(
	cmd *cobra.Command, there *cli.Live, differ *livediff.Differ, rule *program.Program, names []string,
) ([]*unstructured.Unstructured, error) {
	ctx, gvk := cmd.Context(), rule.Parent.GVK
	if len(names) > 0 && manifests.IsFileName(names[0]) {
		objects, err := cli.ReadObjects(cmd, names)
		if err != nil {
			return nil, err
		}
		parents, err := differ.Written(ctx, cmp.Or(o.live.Namespace, o.live.Cluster.Namespace()), objects)
		if err == nil && len(parents) == 0 {
			err = fmt.Errorf("there is no parent for the rule in %s: name a file with an object of kind %s in %s",
				names[0], gvk.Kind, gvk.GroupVersion())
		}
		return parents, err
	}
	place, err := there.Place(kindArg(gvk))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return place.In(o.live.Namespace).Select(ctx, o.live.Selector)
	}
	parent, err := place.Read(ctx, names[0])
	return []*unstructured.Unstructured{parent}, err
}

// kindArg is a kind as an argument of kubectl.
func kindArg(gvk schema.GroupVersionKind) string {
	return strings.ToLower(gvk.Kind) + "." + gvk.Version + "." + gvk.Group
}

// print prints the changes for each parent, and a summary if there are several.
func (o *diffOptions) print(cmd *cobra.Command, differ *livediff.Differ, rule *program.Program, parents []*unstructured.Unstructured) error {
	defer cli.SayIfSlow(cmd.ErrOrStderr(), fmt.Sprintf("Comparing %s with the cluster…", diagnostic.Counted(len(parents), "parent")))()
	out := cmd.OutOrStdout()
	chosen := o.all || o.live.Selector != ""
	summary := livediff.NewSummary(parents, rule.PruneLimit, o.live.Selector != "" || o.live.Namespace != "")
	var failures []string
	for _, parent := range parents {
		changes, err := differ.Diff(cmd.Context(), parent)
		if err != nil {
			return err
		}
		if !chosen || changes.Concerns() { // for a named parent, say that the rule does not select it
			if err := cli.Say(out, "%s", changes.Text(cli.HasColors(out))); err != nil {
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
	text := livediff.TextOf("rule "+rule.Name, restored, cli.HasColors(out))
	if err := errors.Join(cli.Warn(cmd.ErrOrStderr(), notes), cli.Say(out, "%s", text)); err != nil {
		return err
	}
	summary.AddRestored(restored)
	if len(parents) > 1 || chosen {
		if err := cli.Say(out, "# %s\n", summary); err != nil {
			return err
		}
	}
	switch {
	case len(failures) == 1:
		return errors.New(failures[0])
	case len(failures) > 1:
		return fmt.Errorf("%s; and %d more in the output", failures[0], len(failures)-1)
	case summary.Differs():
		return cli.ErrDifferences
	}
	return nil
}
