package inspecting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/cmd/kanon/internal/connection"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/inventory"
	"kanon.dev/kanon/cmd/kanon/internal/rulefiles"
	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/live/ruleset"
	"kanon.dev/kanon/live/trace"
	"kanon.dev/kanon/offline/manifests"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program/template"
)

// traceOptions are the flags of kanon trace.
type traceOptions struct {
	live   inventory.Flags
	output string
	files  rulefiles.Filenames
	watch  bool
	all    bool
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

Of many objects of one kind that are ready, such as Pods, the tree has three and their
number; --all shows each.

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
			_, rest, err := connection.ParseObject(cmd, args)
			if err == nil && len(rest) > 0 {
				err = exit.Usagef(cmd, "unexpected argument %q", rest[0])
			}
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.trace(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.live.Namespace, "namespace", "n", "", "namespace of the object; default: that of the kubeconfig")
	flags.StringVarP(&o.output, "output", "o", string(trace.Tree), strings.Join(trace.Formats(), ", "))
	o.files.Add(cmd, "rules that only Kanon's process has")
	flags.BoolVar(&o.all, "all", false, "show each object, also where many of one kind are ready")
	flags.BoolVarP(&o.watch, "watch", "w", false, "go on and show what changes, until the object is deleted")
	o.live.AddCluster(cmd)
	rulefiles.AddLimits(flags, &o.limits)
	commandline.CompleteFlag(cmd, "output", trace.Formats)
	cmd.ValidArgsFunction = connection.CompleteObject(&o.live.Cluster, &o.live.Namespace)
	return cmd
}

func (o *traceOptions) trace(cmd *cobra.Command, args []string) error {
	target, _, err := connection.ParseObject(cmd, args)
	if err != nil {
		return err
	}
	if err := rulefiles.CheckLimits(o.limits); err != nil {
		return exit.Usagef(cmd, "%w", err)
	}
	switch {
	case !slices.Contains(trace.Formats(), o.output):
		return exit.Usagef(cmd, "--output %q is none of %s", o.output, strings.Join(trace.Formats(), ", "))
	case o.watch && o.live.Cluster.HasTimeout():
		return exit.Usagef(cmd, "--request-timeout would end the watches of --watch")
	case o.watch && (o.output == string(trace.Dot) || o.output == string(trace.Mermaid)):
		return exit.Usagef(cmd, "--watch does not go with --output %s: a picture does not change", o.output)
	}
	ctx := cmd.Context()
	config, err := o.live.Cluster.Reach(ctx, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	kinds, err := manifests.ClusterKinds(ctx, config)
	if err != nil {
		return exit.OfCluster(config.Host, err)
	}
	client, err1 := dynamic.NewForConfig(config)
	objects, err2 := metadata.NewForConfig(config)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	known := ruleset.New(ruleset.Options{Client: client, Kinds: kinds, Namespace: o.live.KanonNamespace, Limits: o.limits})
	files, err := o.files.After(cmd, nil)
	if err != nil {
		return err
	}
	if err := rulefiles.Add(cmd, known, files, kinds, rules.Options{Namespace: o.live.KanonNamespace, Limits: o.limits}); err != nil {
		return err
	}
	tracer := trace.New(trace.Options{Client: client, Metadata: objects, Kinds: kinds, Rules: rulesOf(known), Namespace: o.live.KanonNamespace, Now: time.Now})
	read, err := target.Reader(&o.live.Cluster, config, client, o.live.Namespace)
	if err != nil {
		return exit.OfCluster(config.Host, err)
	}
	err = o.show(cmd, tracer, config.Host, func(ctx context.Context) (*unstructured.Unstructured, error) {
		if err := known.Refresh(ctx); err != nil {
			return nil, err
		}
		return read(ctx)
	})
	if none := (*trace.NoRuleError)(nil); errors.As(err, &none) {
		return fmt.Errorf("%w, and no rule created it; 'kanon get rules' lists the rules of the cluster, and -f names one that only Kanon's process has", none)
	}
	return exit.OfCluster(config.Host, err)
}

// rulesOf returns a function that lists the rules for an object.
func rulesOf(set *ruleset.Set) func(context.Context, *unstructured.Unstructured) ([]trace.Rule, error) {
	return func(ctx context.Context, object *unstructured.Unstructured) ([]trace.Rule, error) {
		var all []trace.Rule
		for _, rule := range set.For(ctx, object) {
			summary, err := rule.Summary(ctx)
			if err != nil {
				return nil, err
			}
			all = append(all, trace.Rule(summary))
		}
		return all, nil
	}
}

// show prints the tree of the object that read returns, and with --watch its changes.
func (o *traceOptions) show(cmd *cobra.Command, tracer *trace.Tracer, host string, read func(context.Context) (*unstructured.Unstructured, error)) error {
	out, notes := cmd.OutOrStdout(), cmd.ErrOrStderr()
	done := sync.OnceFunc(terminal.SayIfSlow(notes, "Reading the tree from "+host+" …"))
	defer done()
	style := func() trace.Style {
		width, _ := terminal.Size(out)
		return trace.Style{Width: width, Color: terminal.HasColors(out), All: o.all, Now: time.Now()}
	}
	if o.watch {
		screen := &trace.Screen{Out: out, Format: trace.Format(o.output), Style: style}
		if terminal.Is(out) {
			screen.Height = func() int { _, height := terminal.Size(out); return height }
		}
		err := tracer.Follow(cmd.Context(), trace.Following{
			Read: read,
			Show: func(root *trace.Node, changes []trace.Change) error {
				done()
				return screen.Update(root, changes)
			},
			Failed: func(err error) {
				_ = terminal.Say(notes, "Warning: %v; trying again\n", exit.OfCluster(host, err))
			},
		})
		if errors.Is(err, trace.ErrDeleted) {
			return terminal.Say(notes, "The object no longer exists\n")
		}
		return err
	}
	object, err := read(cmd.Context())
	if err != nil {
		return err
	}
	root, err := tracer.Trace(cmd.Context(), object)
	if done(); err != nil {
		return err
	}
	return root.Write(out, trace.Format(o.output), style())
}
