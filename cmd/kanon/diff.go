package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/livediff"
	"kanon.dev/kanon/livepreview"
	"kanon.dev/kanon/manifests"
	"kanon.dev/kanon/preview"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/textdiff"
)

// errDifferences ends a command whose output has said already what differs.
var errDifferences = fmt.Errorf("%w: there are differences", errFindings)

// diffOptions are the flags of kanon diff.
type diffOptions struct {
	namespace string
	selector  string
	all       bool
	// kanonNamespace is Kanon's own.
	kanonNamespace string
	limits         template.Limits
	cluster        clusterFlags
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
parent, and for a parent that is being deleted only what finalize does.

The exit code is 0 without differences, 1 with some, and more than 1 when something
went wrong, as of kubectl diff.`,
		Example: `  # What the rule would change for one parent
  kanon diff rule.yaml storefront -n shop

  # What a new revision would change for all parents, before it is applied
  kanon diff rule.yaml --all

  # A parent that does not exist yet
  kanon diff rule.yaml parent.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch selects := o.all || o.selector != ""; {
			case len(args) == 0:
				return usageErrorf(cmd, "name a file with a rule")
			case len(args) == 1 && !selects:
				return usageErrorf(cmd, "name a parent, or choose parents with --selector or --all")
			case len(args) > 2 || len(args) == 2 && selects:
				return usageErrorf(cmd, "name one rule and one parent, or choose parents with --selector or --all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.diff(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace of the parent; default: that of the kubeconfig, with --all and --selector all")
	flags.StringVarP(&o.selector, "selector", "l", "", "parents with these labels")
	flags.BoolVar(&o.all, "all", false, "all parents that the rule selects")
	flags.StringVar(&o.kanonNamespace, "kanon-namespace", engine.DefaultNamespace, "Kanon's own namespace")
	o.cluster.add(flags, clusterGroup)
	o.cluster.addTimeout(flags, clusterGroup)
	addLimits(flags, &o.limits)
	o.cluster.complete(cmd)
	return cmd
}

// troubleError is an error of a command whose exit code 1 means differences.
type troubleError struct{ error }

func (e *troubleError) Unwrap() error { return e.error }

func (o *diffOptions) diff(cmd *cobra.Command, args []string) error {
	err := o.compare(cmd, args)
	if err == nil || errors.Is(err, errDifferences) || isUsage(err) || exitCode(err) == exitUnreachable {
		return err
	}
	return &troubleError{err}
}

func (o *diffOptions) compare(cmd *cobra.Command, args []string) error {
	if err := checkLimits(o.limits); err != nil {
		return usageErrorf(cmd, "%w", err)
	}
	files, err := manifests.Read(args[:1], cmd.InOrStdin())
	if err != nil {
		return usageErrorf(cmd, "%w", err)
	}
	ctx := cmd.Context()
	config, err := o.cluster.reach(ctx)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	kinds, err := manifests.ClusterKinds(ctx, config)
	if err != nil {
		return clusterError(config.Host, err)
	}
	program, err := o.program(cmd, args[0], files, kinds)
	if err != nil {
		return err
	}
	if program.Suspend {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "# the rule is suspended: Kanon changes nothing for it\n")
		return err
	}
	c := &comparison{options: o, client: client, kinds: kinds, program: program, out: cmd.OutOrStdout(), color: hasColors(cmd.OutOrStdout())}
	parents, err := c.parents(ctx, args[1:])
	if err != nil {
		return clusterError(config.Host, err)
	}
	return clusterError(config.Host, c.run(cmd, parents))
}

// program is the one rule in the files.
func (o *diffOptions) program(cmd *cobra.Command, where string, files []manifests.File, kinds *manifests.Kinds) (*program.Program, error) {
	checked, err := checkRules(cmd, where, files, nil, kinds, rules.Options{Namespace: o.kanonNamespace, Limits: o.limits})
	if err != nil {
		return nil, err
	}
	if len(checked.Programs) != 1 {
		return nil, fmt.Errorf("%s has %d rules: name a file with one", where, len(checked.Programs))
	}
	return checked.Programs[0], nil
}

// comparison compares what one rule renders with a cluster.
type comparison struct {
	options *diffOptions
	client  dynamic.Interface
	kinds   *manifests.Kinds
	program *program.Program
	out     io.Writer
	color   bool
}

// parents are those that the arguments name.
func (c *comparison) parents(ctx context.Context, names []string) ([]*unstructured.Unstructured, error) {
	spec := c.program.Parent
	gvr, ok := c.kinds.Resource(spec.GVK)
	if !ok {
		return nil, fmt.Errorf("the cluster has no kind %s in %s", spec.GVK.Kind, spec.GVK.GroupVersion())
	}
	resource := c.client.Resource(gvr)
	if len(names) == 0 {
		list, err := resource.Namespace(c.options.namespace).List(ctx, metav1.ListOptions{LabelSelector: c.options.selector})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", gvr.Resource, err)
		}
		if len(list.Items) == 0 {
			return nil, errors.New(noneFound(spec.GVK.Kind, c.options.selector))
		}
		parents := make([]*unstructured.Unstructured, len(list.Items))
		for i := range list.Items {
			parents[i] = &list.Items[i]
		}
		return parents, nil
	}
	namespace := ""
	if spec.Namespaced {
		namespace = c.options.namespace
		if namespace == "" {
			namespace = c.options.cluster.namespace()
		}
	}
	if ext := filepath.Ext(names[0]); ext == ".yaml" || ext == ".yml" || ext == ".json" || names[0] == "-" {
		return c.written(ctx, names[0], namespace)
	}
	parent, err := resource.Namespace(namespace).Get(ctx, names[0], metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%s %s does not exist in namespace %q: choose another namespace with -n, or name a file", spec.GVK.Kind, names[0], namespace)
	}
	return []*unstructured.Unstructured{parent}, err
}

// written are parents in a file, as they would be in the cluster.
func (c *comparison) written(ctx context.Context, file, namespace string) ([]*unstructured.Unstructured, error) {
	files, err := manifests.Read([]string{file}, nil)
	if err != nil {
		return nil, err
	}
	objects, err := manifests.Objects(files)
	if err != nil {
		return nil, err
	}
	spec := c.program.Parent
	gvr, _ := c.kinds.Resource(spec.GVK)
	var parents []*unstructured.Unstructured
	for _, object := range objects {
		if object.GroupVersionKind() != spec.GVK {
			continue
		}
		if spec.Namespaced && object.GetNamespace() == "" {
			object.SetNamespace(namespace)
		}
		parent, err := livediff.AsWritten(ctx, c.client.Resource(gvr).Namespace(object.GetNamespace()), object)
		if err != nil {
			return nil, err
		}
		parents = append(parents, parent)
	}
	if len(parents) == 0 {
		return nil, fmt.Errorf("there is no %s of %s in %s", spec.GVK.Kind, spec.GVK.GroupVersion(), file)
	}
	return parents, nil
}

// run prints what changes for each parent, and a summary if there are several.
func (c *comparison) run(cmd *cobra.Command, parents []*unstructured.Unstructured) error {
	defer sayIfSlow(cmd.ErrOrStderr(), fmt.Sprintf("Comparing %s with the cluster…", manifests.Counted(len(parents), "parent")))()
	differ := livediff.New(livepreview.Options{Client: c.client, Kinds: c.kinds, Program: c.program, Namespace: c.options.kanonNamespace, Now: time.Now()})
	summary := livediff.NewSummary(parents, c.program.PruneLimit, c.options.selector != "" || c.options.namespace != "")
	for _, parent := range parents {
		changes, err := differ.Diff(cmd.Context(), parent)
		if err != nil {
			return err
		}
		if err := c.print(changes); err != nil {
			return err
		}
		summary.Add(changes)
	}
	if len(parents) > 1 || c.options.all || c.options.selector != "" {
		if _, err := fmt.Fprintf(c.out, "# %s\n", summary); err != nil {
			return fmt.Errorf("print the summary: %w", err)
		}
	}
	if summary.Differs() {
		return errDifferences
	}
	return nil
}

func (c *comparison) print(changes *livediff.Changes) error {
	var text strings.Builder
	at := changes.Parent.GetName()
	if namespace := changes.Parent.GetNamespace(); namespace != "" {
		at = namespace + "/" + at
	}
	who := changes.Parent.GetKind() + " " + at
	var nodes []preview.Node
	switch {
	case changes.Idle != "":
		fmt.Fprintf(&text, "# %s %s: Kanon changes nothing for it\n", who, changes.Idle)
	case changes.Preview.Unmatched != "":
		fmt.Fprintf(&text, "# %s: the rule does not select it: %s\n", who, changes.Preview.Unmatched)
	default:
		nodes = changes.Preview.Nodes
	}
	if changes.Parent.GetDeletionTimestamp() != nil && changes.Idle == "" {
		fmt.Fprintf(&text, "# %s is being deleted: this is what finalize does\n", who)
	}
	for _, node := range nodes {
		if node.State == program.StateWaiting || node.State == program.StateFailed {
			fmt.Fprintf(&text, "# %s: child %s %s: %s\n", who, node.ID, map[bool]string{true: "waits", false: "fails"}[node.State == program.StateWaiting], node.Text())
		}
	}
	for _, change := range changes.All {
		fmt.Fprintf(&text, "# %s: %s\n", who, change.Title())
		diff := change.Unified()
		if c.color {
			diff = textdiff.Colored(diff)
		}
		text.WriteString(diff)
	}
	_, err := io.WriteString(c.out, text.String())
	return err
}
