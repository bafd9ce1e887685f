package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/author/live/trace"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
)

// traceOptions are the flags of kanon trace.
type traceOptions struct {
	live   cli.LiveFlags
	output string
	files  cli.Filenames
	watch  bool
	all    bool
}

func newTraceCommand() *cobra.Command {
	o := traceOptions{output: string(trace.Tree)}
	cmd := &cobra.Command{
		Use:   "trace KIND NAME",
		Short: "Show a parent with all below it, and why it is not ready",
		Args: func(cmd *cobra.Command, args []string) error {
			_, rest, err := cli.ParseObject(cmd, args)
			if err == nil && len(rest) > 0 {
				err = cli.Usagef(cmd, "unexpected argument %q", rest[0])
			}
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.trace(cmd, args) },
	}
	flags := cmd.Flags()
	o.live.AddNamespace(cmd, "object")
	cli.Choice{Name: "output", Short: "o", Usage: strings.Join(trace.Formats(), ", "), Values: trace.Formats()}.Add(cmd, &o.output)
	o.files.Add(cmd, "rules that only Kanon's process has")
	flags.BoolVar(&o.all, "all", false, "show each object, also where many of one kind are ready")
	flags.BoolVarP(&o.watch, "watch", "w", false, "go on and show what changes, until the object is deleted")
	o.live.AddCluster(cmd)
	cli.AddLimits(flags, &o.live.Limits)
	cmd.ValidArgsFunction = o.live.CompleteObject
	return cmd
}

func (o *traceOptions) trace(cmd *cobra.Command, args []string) error {
	target, _, err := cli.ParseObject(cmd, args)
	if err != nil {
		return err
	}
	if o.watch && (o.output == string(trace.Dot) || o.output == string(trace.Mermaid)) {
		return cli.Usagef(cmd, "--watch does not go with --output %s: a picture does not change", o.output)
	}
	there, err := o.live.Open(cmd)
	if err != nil {
		return err
	}
	_, compiler, err := there.Reader(cmd.Context())
	if err != nil {
		return err
	}
	inFiles, err := o.files.Check(cmd, there)
	if err != nil {
		return err
	}
	place, err := there.Place(target.Kind)
	if err != nil {
		return err
	}
	var known *live.Rules
	tracer := trace.New(trace.Options{
		Client: there.Client, Kinds: compiler.Kinds, Namespace: o.live.KanonNamespace, Now: time.Now,
		Rules: func(ctx context.Context, object *unstructured.Unstructured) (all []trace.Rule, err error) {
			for _, rule := range known.Selecting(object, live.NamespaceLabels(ctx, there.Client)) {
				summary, err := compiler.Summary(ctx, rule)
				if err != nil {
					return nil, err
				}
				all = append(all, summary)
			}
			return all, nil
		},
	})
	err = o.show(cmd, tracer, there.Config.Host, func(ctx context.Context) (*unstructured.Unstructured, error) {
		var err error
		if known, err = live.ListRules(ctx, there.Client, o.live.KanonNamespace); err != nil {
			return nil, err
		}
		known.Add(inFiles)
		return place.Read(ctx, target.Name)
	})
	if none := (*trace.NoRuleError)(nil); errors.As(err, &none) {
		return fmt.Errorf("%w, and no rule created it; 'kanon get rules' lists the rules of the cluster, and -f names one that only Kanon's process has", none)
	}
	return err
}

// show prints the tree of the object that read returns, and with --watch each tree that follows.
func (o *traceOptions) show(cmd *cobra.Command, tracer *trace.Tracer, host string, read func(context.Context) (*unstructured.Unstructured, error)) error {
	out, notes := cmd.OutOrStdout(), cmd.ErrOrStderr()
	done := sync.OnceFunc(cli.SayIfSlow(notes, "Reading the tree from "+host+" …"))
	defer done()
	screen := &trace.Screen{Out: out, Format: trace.Format(o.output), Style: func() trace.Style {
		width, _ := cli.Size(out)
		return trace.Style{Width: width, Color: cli.HasColors(out), All: o.all, Now: time.Now()}
	}}
	if !o.watch {
		root, err := tracer.Read(cmd.Context(), read)
		if done(); err != nil {
			return err
		}
		return screen.Show(root)
	}
	if cli.IsTerminal(out) {
		screen.Height = func() int { _, height := cli.Size(out); return height }
	}
	err := tracer.Follow(cmd.Context(), read, func(root *trace.Node) error {
		done()
		return screen.Show(root)
	}, func(err error) {
		_ = cli.Say(notes, "Warning: %v; trying again\n", cli.OfCluster(cmd, err))
	})
	if errors.Is(err, trace.ErrDeleted) {
		return cli.Say(notes, "The object no longer exists\n")
	}
	return err
}
