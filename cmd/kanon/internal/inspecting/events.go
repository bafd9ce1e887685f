package inspecting

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
	"k8s.io/apimachinery/pkg/watch"

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/cmd/kanon/internal/connection"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/inventory"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/live/eventlog"
	"kanon.dev/kanon/live/follow"
	"kanon.dev/kanon/live/installed"
	"kanon.dev/kanon/live/listing"
)

// eventsOptions are the flags of kanon events.
type eventsOptions struct {
	about  string
	rule   string
	types  []string
	watch  bool
	where  inventory.Flags
	output inventory.Output
}

func newEventsCommand() *cobra.Command {
	var o eventsOptions
	cmd := &cobra.Command{
		Use:   "events",
		Short: "List what Kanon reports about rules and parents",
		Long: `List the Events that Kanon emitted, those that were emitted last at the end: about rules,
about their parents, and those of spec.events.

--for chooses the Events about one object. --rule chooses those of a rule: about what the
rule is in, and those about its parents that are of this rule, in all namespaces unless
one is named.

The API server keeps Events for an hour, unless it is told otherwise.

The exit code is 0, 1 when something does not exist or cannot be read, 2 when the command
is called wrongly, and 3 when the cluster does not answer.`,
		Example: `  # What Kanon reported in the namespace of the kubeconfig
  kanon events

  # About one parent
  kanon events --for webapp/storefront -n shop

  # About a rule and all its parents, and what follows
  kanon events --rule webapp --watch

  # What is in the way of anything
  kanon events -A --types Warning`,
		Args: commandline.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.events(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.about, "for", "", "only Events about this object, as KIND/NAME")
	flags.StringVar(&o.rule, "rule", "", "only Events of this rule, as NAME or NAMESPACE/NAME")
	flags.StringSliceVar(&o.types, "types", nil, "only Events of these types: Normal, Warning")
	flags.BoolVarP(&o.watch, "watch", "w", false, "go on with the Events that follow")
	flags.StringVarP(&o.where.Namespace, "namespace", "n", "", "namespace of the Events; default: that of the kubeconfig")
	flags.BoolVarP(&o.where.AllNamespaces, "all-namespaces", "A", false, "Events in all namespaces")
	o.where.AddCluster(cmd)
	o.output.Add(cmd)
	commandline.CompleteFlag(cmd, "types", func() []cobra.Completion { return []cobra.Completion{"Normal", "Warning"} })
	commandline.CompleteFlagBy(cmd, "for", connection.CompleteSlashed(&o.where.Cluster, &o.where.Namespace))
	commandline.CompleteFlag(cmd, "rule", func() []cobra.Completion { return o.where.CompleteRules(cmd) })
	return cmd
}

// validate checks the flags that can be checked without a cluster.
func (o *eventsOptions) validate(cmd *cobra.Command) error {
	for _, t := range o.types {
		if !strings.EqualFold(t, "Normal") && !strings.EqualFold(t, "Warning") {
			return exit.Usagef(cmd, "--types %q is neither Normal nor Warning", t)
		}
	}
	if o.about != "" && o.rule != "" {
		return exit.Usagef(cmd, "--for and --rule exclude each other")
	}
	if o.about != "" && !strings.Contains(o.about, "/") {
		return exit.Usagef(cmd, "--for %q is not KIND/NAME", o.about)
	}
	return nil
}

func (o *eventsOptions) events(cmd *cobra.Command) error {
	if err := o.validate(cmd); err != nil {
		return err
	}
	printer, err := o.output.Printer(cmd)
	if err != nil {
		return err
	}
	if o.rule != "" && o.where.Namespace == "" {
		o.where.AllNamespaces = true
	}
	query, err := o.where.Query(cmd)
	if err != nil {
		return err
	}
	there, err := o.where.Reach(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	log := eventlog.Log{Client: there.Client, Namespace: query.Namespace}
	matches, err := o.filter(cmd, there, &log)
	if err != nil {
		return exit.OfCluster(there.Config.Host, err)
	}
	return exit.OfCluster(there.Config.Host, o.print(cmd, log, &eventlog.Mask{Client: there.Client, Rules: there.Rules}, printer, matches))
}

// filter returns a filter for the Events, and sets the namespace of the log to where they are.
func (o *eventsOptions) filter(cmd *cobra.Command, there *inventory.Live, log *eventlog.Log) (func(context.Context, eventlog.Event) (bool, error), error) {
	filter := eventlog.Filter{Types: o.types}
	if o.about != "" {
		arg, _, err := connection.ParseObject(cmd, []string{o.about})
		if err != nil {
			return nil, err
		}
		kind, err := connection.Kind(there.Config, arg.Kind)
		if err != nil {
			return nil, err
		}
		object := identity.ID{GroupKind: kind.GroupVersionKind.GroupKind()}
		if object.Name = arg.Name; kind.Scope.Name() == meta.RESTScopeNameNamespace {
			object.Namespace = log.Namespace
		} else {
			log.Namespace = metav1.NamespaceDefault // the namespace of Events about cluster-scoped objects
		}
		filter.Object = &object
	}
	about := func(context.Context, eventlog.Event) (bool, error) { return true, nil }
	if o.rule != "" {
		rule, err := there.Rules.Find(o.rule)
		if err != nil {
			return nil, err
		}
		reader, err := there.Reader(cmd.Context())
		if err != nil {
			return nil, err
		}
		about = eventlog.NewAbout(reader, rule, there.Rules.Namespace).Matches
	}
	return func(ctx context.Context, e eventlog.Event) (bool, error) {
		if filter.Object != nil && o.where.AllNamespaces {
			filter.Object.Namespace = e.Object.Namespace
		}
		if !filter.Matches(e) {
			return false, nil
		}
		return about(ctx, e)
	}, nil
}

// print prints the Events, and with --watch those that follow.
func (o *eventsOptions) print(cmd *cobra.Command, log eventlog.Log, mask *eventlog.Mask, printer *listing.Printer, matches func(context.Context, eventlog.Event) (bool, error)) error {
	ctx := cmd.Context()
	events, version, err := log.List(ctx)
	if err != nil {
		return err
	}
	var failed error
	events = slices.DeleteFunc(events, func(e eventlog.Event) bool {
		if failed != nil {
			return true
		}
		ok, err := matches(ctx, e)
		failed = err
		return !ok
	})
	if failed != nil {
		return failed
	}
	for i := range events {
		events[i] = mask.Hide(ctx, events[i])
	}
	if len(events) == 0 && printer.Format.IsTable() && !o.watch {
		in := "any namespace"
		if log.Namespace != "" {
			in = "namespace " + log.Namespace + "; " + cmp.Or(installed.NoNamespace(ctx, log.Client, log.Namespace), "-A asks for all namespaces")
		}
		_, err := fmt.Fprintf(cmd.ErrOrStderr(), "No Events of Kanon found in %s\n", in)
		return err
	}
	if err := printer.Print(eventlog.ListOf(events, o.where.AllNamespaces, time.Now())); err != nil || !o.watch {
		return err
	}
	return follow.Objects(ctx, func(change watch.EventType, object *unstructured.Unstructured) error {
		e, err := eventlog.Of(object)
		if err != nil || change == watch.Deleted {
			return err // a deleted Event has only expired
		}
		if ok, err := matches(ctx, e); err != nil || !ok {
			return err
		}
		return printer.Print(eventlog.ListOf([]eventlog.Event{mask.Hide(ctx, e)}, o.where.AllNamespaces, time.Now()))
	}, log.Watch(version))
}
