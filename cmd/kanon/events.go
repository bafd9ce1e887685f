package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
	"kanon.dev/kanon/engine/identity"
)

// eventsOptions are the flags of kanon events.
type eventsOptions struct {
	about  string
	rule   string
	types  []string
	watch  bool
	where  cli.LiveFlags
	output cli.Output
}

func newEventsCommand() *cobra.Command {
	var o eventsOptions
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List what Kanon reports about rules and parents",
		Args:  cli.NoArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return o.events(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.about, "for", "", "only Events about this object, as KIND/NAME")
	flags.StringVar(&o.rule, "rule", "", "only Events of this rule, as NAME or NAMESPACE/NAME")
	flags.StringSliceVar(&o.types, "types", nil, "only Events of these types: Normal, Warning")
	flags.BoolVarP(&o.watch, "watch", "w", false, "go on with the Events that follow")
	o.where.AddNamespaces(cmd, "Events")
	o.where.AddCluster(cmd)
	o.output.Add(cmd)
	cli.CompleteFlag(cmd, "types", func() []cobra.Completion { return []cobra.Completion{"Normal", "Warning"} })
	cli.CompleteFlagBy(cmd, "for", o.where.CompleteSlashed)
	cli.CompleteFlag(cmd, "rule", func() []cobra.Completion { return o.where.CompleteRules(cmd) })
	return cmd
}

// validate checks the flags that can be checked without a cluster.
func (o *eventsOptions) validate(cmd *cobra.Command) error {
	for _, t := range o.types {
		if !strings.EqualFold(t, "Normal") && !strings.EqualFold(t, "Warning") {
			return cli.Usagef(cmd, "--types %q is neither Normal nor Warning", t)
		}
	}
	if o.about != "" && o.rule != "" {
		return cli.Usagef(cmd, "--for and --rule exclude each other")
	}
	if o.about != "" && !strings.Contains(o.about, "/") {
		return cli.Usagef(cmd, "--for %q is not KIND/NAME", o.about)
	}
	return nil
}

func (o *eventsOptions) events(cmd *cobra.Command) error {
	if err := o.validate(cmd); err != nil {
		return err
	}
	if o.rule != "" && o.where.Namespace == "" {
		o.where.AllNamespaces = true
	}
	query, err := o.where.Query(cmd)
	if err != nil {
		return err
	}
	there, err := o.where.Reach(cmd)
	if err != nil {
		return err
	}
	log := live.EventLog{Client: there.Client, Namespace: query.Namespace}
	filter, err := o.filter(cmd, there, &log)
	if err != nil {
		return err
	}
	return o.print(cmd, log, &live.EventMask{Client: there.Client, Rules: there.Rules}, filter)
}

// filter returns a filter for the Events, and sets the namespace of the log to where they are.
func (o *eventsOptions) filter(cmd *cobra.Command, there *cli.Live, log *live.EventLog) (*live.EventFilter, error) {
	filter := &live.EventFilter{Types: o.types, Anywhere: o.where.AllNamespaces}
	if o.about != "" {
		arg, _, err := cli.ParseObject(cmd, []string{o.about})
		if err != nil {
			return nil, err
		}
		place, err := there.Place(arg.Kind)
		if err != nil {
			return nil, err
		}
		filter.Object = &identity.ID{GroupKind: place.Kind.GroupKind()}
		filter.Object.Namespace, filter.Object.Name = place.Namespace, arg.Name
		if place.Namespace == "" {
			log.Namespace = metav1.NamespaceDefault // the namespace of Events about cluster-scoped objects
		}
	}
	if o.rule == "" {
		return filter, nil
	}
	rule, err := there.Rules.Find(o.rule)
	if err != nil {
		return nil, err
	}
	reader, _, err := there.Reader(cmd.Context())
	if err != nil {
		return nil, err
	}
	return filter, filter.OfRule(cmd.Context(), reader, rule, there.Rules.Namespace)
}

// print prints the Events, and with --watch those that follow.
func (o *eventsOptions) print(cmd *cobra.Command, log live.EventLog, mask *live.EventMask, filter *live.EventFilter) error {
	ctx, printer := cmd.Context(), o.output.Printer(cmd)
	show := func(all ...live.Event) error {
		var events []live.Event
		for _, e := range all {
			ok, err := filter.Matches(ctx, e)
			if err != nil {
				return err
			}
			if ok {
				events = append(events, mask.Hide(ctx, e))
			}
		}
		if len(events) == 0 && o.watch {
			return nil
		}
		if len(events) == 0 && printer.Format.IsTable() {
			return cli.Say(cmd.ErrOrStderr(), "No Events of Kanon found in %s\n", live.NothingIn(ctx, log.Client, log.Namespace))
		}
		return printer.Print(live.EventList(events, o.where.AllNamespaces, time.Now()))
	}
	events, version, err := log.List(ctx)
	if err == nil {
		err = show(events...)
	}
	if err != nil || !o.watch {
		return err
	}
	return live.Follow(ctx, func(change watch.EventType, object *unstructured.Unstructured) error {
		e, err := live.EventOf(object)
		if err != nil || change == watch.Deleted {
			return err // a deleted Event has only expired
		}
		return show(e)
	}, log.Watch(version))
}
