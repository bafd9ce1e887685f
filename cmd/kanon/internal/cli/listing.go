package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"reflect"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	"kanon.dev/kanon/author/live"
)

// Listing prints rules, or the objects of one rule.
type Listing struct {
	*Live
	Query   live.Query
	Printer *live.Printer
	// Notes receives messages about what the list does not show.
	Notes io.Writer
	// Watch continues with each object that changes.
	Watch bool

	reader   *live.Reader
	compiler *live.Compiler
	rule     *live.Rule
	noun     live.Noun
	// noted is true once note has printed.
	noted bool
}

// PrintObjects prints the parents or the children of a rule, and with Watch their changes.
func (g *Listing) PrintObjects(ctx context.Context, rule *live.Rule, noun live.Noun) (err error) {
	if g.reader, g.compiler, err = g.Reader(ctx); err != nil {
		return err
	}
	g.rule, g.noun = rule, noun
	if kind, ok := g.kinds.Lookup(rule.ParentKind()); noun == live.Children && g.Flags.Namespace == "" && ok && !kind.Namespaced {
		g.Query.Namespace = "" // the children of a cluster-scoped parent can be in any namespace
	}
	var watches []live.Watch
	if g.Watch {
		if watches, err = g.reader.Watches(ctx, rule, noun, g.Query); err != nil {
			return err
		}
	}
	items, err := g.reader.Items(ctx, rule, noun, g.Query)
	if err == nil {
		err = g.judge(ctx, items)
	}
	if err != nil {
		return err
	}
	if len(items) == 0 && g.Printer.Format.IsTable() && !g.Watch {
		in := "the cluster: rule " + rule.Name.String() + " has no " + string(noun)
		if g.Query.Namespace != "" {
			in = live.NothingIn(ctx, g.Client, g.Query.Namespace)
		}
		return Say(g.Notes, "Nothing found in %s\n", in)
	}
	if err := g.print(items); err != nil || !g.Watch {
		return err
	}
	itemOf, err := g.reader.ItemOf(ctx, rule, noun, g.Query)
	if err != nil {
		return err
	}
	return live.Follow(ctx, func(_ watch.EventType, object *unstructured.Unstructured) error {
		item, ok := itemOf(object)
		if !ok {
			return nil
		}
		items := []live.Item{item}
		_ = g.judge(ctx, items) // without an answer, the conditions or the kind still show the state
		return g.print(items)
	}, watches...)
}

func (g *Listing) print(items []live.Item) error {
	return g.Printer.Print(live.ItemList(g.noun, items, g.Query.Namespace == "", time.Now()))
}

// PrintRules prints the named rules, or all that the query chooses, and with Watch their changes.
func (g *Listing) PrintRules(ctx context.Context, names []string) error {
	chosen, missing := g.choose(names)
	if len(chosen) == 0 && len(missing) > 0 {
		return errors.Join(missing...)
	}
	list, err := g.list(ctx, chosen)
	if err != nil {
		return err
	}
	list.Single = len(names) == 1
	namespace := g.Flags.KanonNamespace
	if len(chosen) == 0 && g.Printer.Format.IsTable() && !g.Watch {
		err = Say(g.Notes, "No rules found: %s; --kanon-namespace names another\n",
			cmp.Or(live.NoNamespace(ctx, g.Client, namespace), "Kanon's namespace is taken to be "+namespace))
	} else {
		err = g.Printer.Print(list)
	}
	for _, problem := range g.Rules.Problems {
		if len(names) == 0 && err == nil {
			err = Say(g.Notes, "Warning: %s: %s\n", problem.Where, problem.Message)
		}
	}
	if err := errors.Join(append(missing, err)...); err != nil || !g.Watch {
		return err
	}
	return g.follow(ctx, names, list)
}

// choose lists the chosen rules. The errors report names that do not exist.
func (g *Listing) choose(names []string) (chosen []*live.Rule, missing []error) {
	for _, name := range names {
		rule, err := g.Rules.Find(name)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		chosen = append(chosen, rule)
	}
	if len(names) > 0 {
		return chosen, missing
	}
	namespace := g.Flags.Namespace
	return slices.DeleteFunc(slices.Clone(g.Rules.All), func(rule *live.Rule) bool {
		return namespace != "" && rule.Name.Namespace != namespace || g.Query.Selector != nil && !g.Query.Selector.Matches(labels.Set(rule.Labels()))
	}), nil
}

// countWorkers is the number of rules whose objects are counted concurrently.
const countWorkers = 8

// list is a list of rules, with counts unless only names are printed.
func (g *Listing) list(ctx context.Context, chosen []*live.Rule) (live.List, error) {
	if g.Printer.Format != live.FormatName {
		reader, _, err := g.Reader(ctx)
		if err != nil {
			return live.List{}, err
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(countWorkers)
		for _, rule := range chosen {
			group.Go(func() error { return reader.Count(ctx, rule) })
		}
		if err := group.Wait(); err != nil {
			return live.List{}, err
		}
	}
	return live.RuleList(chosen, time.Now()), nil
}

// follow reads the rules again and again, and prints each whose row has changed since it was last printed.
func (g *Listing) follow(ctx context.Context, names []string, printed live.List) error {
	values := make(map[string]any)
	keep := func(list live.List) {
		for _, row := range list.Rows {
			values[row.Name] = row.Value
		}
	}
	keep(printed)
	err := wait.PollUntilContextCancel(ctx, live.Pause, true, func(ctx context.Context) (_ bool, err error) {
		if g.Rules, err = live.ListRules(ctx, g.Client, g.Flags.KanonNamespace); err != nil {
			return false, err
		}
		chosen, _ := g.choose(names)
		list, err := g.list(ctx, chosen)
		if err != nil {
			return false, err
		}
		changed := list
		changed.Rows = slices.DeleteFunc(slices.Clone(list.Rows), func(row live.Row) bool {
			return reflect.DeepEqual(values[row.Name], row.Value) // apart from the age
		})
		keep(list)
		if len(changed.Rows) == 0 {
			return false, nil
		}
		return false, g.Printer.Print(changed)
	})
	if err == nil || ctx.Err() != nil {
		return nil //nolint:nilerr // who follows ends it
	}
	return err
}
