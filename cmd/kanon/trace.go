package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"kanon.dev/kanon/manifests"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/trace"
)

// traceOptions are the flags of kanon trace.
type traceOptions struct {
	live   liveFlags
	output string
	files  []string
	watch  bool
	limits template.Limits
}

func newTraceCommand() *cobra.Command {
	var o traceOptions
	cmd := &cobra.Command{
		Use:   "trace KIND NAME",
		Short: "Show a parent with all below it, and why it is not ready",
		Long: `Show a parent as a tree: the objects that its rules read, create and patch, what these
own, such as the ReplicaSets and Pods of a Deployment, and the children of a child that is
the parent of another rule. Below each object stands why it is not as it should be: the
expression that waits and what for, the object that has the name, conditions, Events.

The rules are those of the cluster, evaluated now, as Kanon does. Nothing is changed.
Rules in files of Kanon's process are not in the cluster: name them with -f.

KIND is as kubectl takes it: a kind, its plural, its short name, with .GROUP if several
have it. KIND/NAME in one word works too.

  STATE        means
  Ready        the object exists and is ready (of a lookup: Found, of a patch: Applied)
  NotReady     it exists, and is not ready yet
  Waiting      the rule reads what does not exist yet
  Missing      the rule wants or reads it, and it does not exist
  Failed       somebody has to do something
  Refused      something else has its name
  Skipped      the rule does not want it now
  Obsolete     the rule no longer renders it
  Terminating  it is being deleted
  NotApplied   the fields of a patch have other values

The exit code is 0 whatever the states are, 1 when no rule is for the object, 2 when the
command is called wrongly, and 3 when the cluster does not answer.`,
		Example: `  # Why is it not ready?
  kanon trace webapp storefront -n shop

  # The same, as it changes
  kanon trace webapp storefront -n shop -w

  # Each object in one line
  kanon trace webapp/storefront -o wide

  # A picture for a Markdown page
  kanon trace webapp storefront -o mermaid`,
		Args: func(cmd *cobra.Command, args []string) error {
			_, rest, err := parseObjectArg(cmd, args)
			if err == nil && len(rest) > 0 {
				err = usageErrorf(cmd, "unexpected argument %q", rest[0])
			}
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.trace(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.live.namespace, "namespace", "n", "", "namespace of the object; default: that of the kubeconfig")
	flags.StringVarP(&o.output, "output", "o", string(trace.Tree), strings.Join(trace.Formats(), ", "))
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "file or directory with rules that only Kanon's process has; repeatable")
	flags.BoolVarP(&o.watch, "watch", "w", false, "go on and show what changes, until the object is deleted")
	o.live.addCluster(cmd)
	addLimits(flags, &o.limits)
	completeFlag(cmd, "output", trace.Formats)
	cmd.ValidArgsFunction = completeObject(&o.live.cluster, &o.live.namespace)
	return cmd
}

func (o *traceOptions) trace(cmd *cobra.Command, args []string) error {
	target, _, err := parseObjectArg(cmd, args)
	if err != nil {
		return err
	}
	if err := checkLimits(o.limits); err != nil {
		return usageErrorf(cmd, "%w", err)
	}
	switch {
	case !slices.Contains(trace.Formats(), o.output):
		return usageErrorf(cmd, "--output %q is none of %s", o.output, strings.Join(trace.Formats(), ", "))
	case o.watch && o.live.cluster.overrides.Timeout != "":
		return usageErrorf(cmd, "--request-timeout would end the watches of --watch")
	case o.watch && (o.output == string(trace.Dot) || o.output == string(trace.Mermaid)):
		return usageErrorf(cmd, "--watch does not go with --output %s: a picture does not change", o.output)
	}
	ctx := cmd.Context()
	config, err := o.live.cluster.reach(ctx)
	if err != nil {
		return err
	}
	kinds, err := manifests.ClusterKinds(ctx, config)
	if err != nil {
		return clusterError(config.Host, err)
	}
	client, err1 := dynamic.NewForConfig(config)
	objects, err2 := metadata.NewForConfig(config)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	known := &knownRules{client: client, kinds: kinds, namespace: o.live.kanonNamespace, limits: o.limits}
	if err := known.readFiles(cmd, o.files); err != nil {
		return err
	}
	tracer := trace.New(trace.Options{Client: client, Metadata: objects, Kinds: kinds, Rules: known.of, Namespace: o.live.kanonNamespace, Now: time.Now})
	read, err := target.reader(&o.live.cluster, config, client, o.live.namespace)
	if err != nil {
		return clusterError(config.Host, err)
	}
	v := &view{traceOptions: o, cmd: cmd, tracer: tracer, known: known, host: config.Host, read: read}
	err = v.show(ctx)
	if none := (*trace.NoRuleError)(nil); errors.As(err, &none) {
		return fmt.Errorf("%w, and no rule created it; 'kanon get rules' lists the rules of the cluster, and -f names one that only Kanon's process has", none)
	}
	return clusterError(config.Host, err)
}

// view prints trees.
type view struct {
	*traceOptions
	cmd    *cobra.Command
	tracer *trace.Tracer
	known  *knownRules
	read   func(ctx context.Context) (*unstructured.Unstructured, error)
	host   string
}

// show prints the tree, and with --watch what changes.
func (v *view) show(ctx context.Context) error {
	done := sync.OnceFunc(sayIfSlow(v.cmd.ErrOrStderr(), "Reading the tree from "+v.host+" …"))
	defer done()
	if v.watch {
		err := v.tracer.Follow(ctx, trace.Following{
			Read: v.object,
			Show: func(root *trace.Node, changes []trace.Change) error {
				done()
				return v.update(root, changes)
			},
			Failed: func(err error) {
				_, _ = fmt.Fprintf(v.cmd.ErrOrStderr(), "Warning: %v; trying again\n", clusterError(v.host, err))
			},
		})
		if errors.Is(err, trace.ErrDeleted) {
			_, err = fmt.Fprintln(v.cmd.ErrOrStderr(), "The object no longer exists")
		}
		return err
	}
	object, err := v.object(ctx)
	if err != nil {
		return err
	}
	root, err := v.tracer.Trace(ctx, object)
	if done(); err != nil {
		return err
	}
	return root.Write(v.cmd.OutOrStdout(), trace.Format(v.output), v.style())
}

// object reads the object, and which rules there are now.
func (v *view) object(ctx context.Context) (*unstructured.Unstructured, error) {
	if err := v.known.refresh(ctx); err != nil {
		return nil, err
	}
	return v.read(ctx)
}

func (v *view) style() trace.Style {
	out := v.cmd.OutOrStdout()
	width, _ := sizeOf(out)
	return trace.Style{Width: width, Color: hasColors(out), Now: time.Now()}
}

// The sequences with which a terminal begins anew: to the top left, and clear all.
const home, clearAll = "\x1b[H", "\x1b[2J"

// update shows a tree after others: all of it on a terminal and in formats for programs, and else what changed.
func (v *view) update(root *trace.Node, changes []trace.Change) error {
	out, format := v.cmd.OutOrStdout(), trace.Format(v.output)
	var text strings.Builder
	switch {
	case format == trace.YAML && changes != nil:
		text.WriteString("---\n")
	case format == trace.JSON || format == trace.YAML:
	case isTerminal(out):
		var tree strings.Builder
		if err := root.Write(&tree, format, v.style()); err != nil {
			return err
		}
		_, height := sizeOf(out)
		_, err := io.WriteString(out, home+clearAll+cut(tree.String(), height-1))
		return err
	case changes != nil:
		now := time.Now().Format(time.TimeOnly)
		for _, change := range changes {
			fmt.Fprintf(&text, "%s %s\n", now, change)
		}
		_, err := io.WriteString(out, text.String())
		return err
	}
	if err := root.Write(&text, format, v.style()); err != nil {
		return err
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// cut is a text that fits on a screen with that many lines.
func cut(text string, height int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if height <= 1 || len(lines) <= height {
		return text
	}
	left := len(lines) - (height - 1)
	return strings.Join(lines[:height-1], "\n") + fmt.Sprintf("\n… %d more lines, for which the terminal is too small\n", left)
}
