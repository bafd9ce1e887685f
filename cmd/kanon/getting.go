package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"

	"kanon.dev/kanon/follow"
	"kanon.dev/kanon/installed"
	"kanon.dev/kanon/listing"
)

// getting is one call of kanon get.
type getting struct {
	*getOptions
	*live
	// reader and rule are nil for rules.
	reader  *installed.Reader
	rule    *installed.Rule
	query   installed.Query
	printer *listing.Printer
}

// print prints the parents or the children of a rule, and then what changes if that is asked for.
func (g *getting) print(cmd *cobra.Command, what string) error {
	ctx := cmd.Context()
	read, start, row := g.parents, g.reader.ParentWatches, g.parent
	if what == "children" {
		read, start, row = g.children, g.reader.ChildWatches, g.child
	}
	var watches []follow.Watch
	if g.watch {
		var err error
		if watches, err = start(ctx, g.rule, g.query); err != nil {
			return err
		}
	}
	list, err := read(ctx)
	if err != nil {
		return err
	}
	if len(list.Rows) == 0 && g.printer.Format.IsTable() && !g.watch {
		in := "the cluster: rule " + g.rule.Name.String() + " has no " + what
		if g.query.Namespace != "" {
			in = "namespace " + g.query.Namespace + "; -A asks for all namespaces"
		}
		return say(cmd.ErrOrStderr(), "Nothing found in %s\n", in)
	}
	if err := g.printer.Print(list); err != nil || !g.watch {
		return err
	}
	return follow.Objects(ctx, func(_ watch.EventType, object *unstructured.Unstructured) error {
		if list := row(ctx, object); len(list.Rows) > 0 {
			return g.printer.Print(list)
		}
		return nil
	}, watches...)
}

// say writes a line for people.
func say(w io.Writer, format string, args ...any) error {
	if _, err := fmt.Fprintf(w, format, args...); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

func (g *getting) parents(ctx context.Context) (listing.List, error) {
	parents, err := g.reader.Parents(ctx, g.rule, g.query)
	return installed.ParentList(parents, g.where.allNamespaces, time.Now()), err
}

func (g *getting) parent(ctx context.Context, object *unstructured.Unstructured) listing.List {
	var parents []installed.Parent
	if parent, ok := g.reader.ParentOf(ctx, g.rule, object); ok {
		parents = append(parents, parent)
	}
	return installed.ParentList(parents, g.where.allNamespaces, time.Now())
}

func (g *getting) children(ctx context.Context) (listing.List, error) {
	children, err := g.reader.Children(ctx, g.rule, g.query)
	return installed.ChildList(children, g.where.allNamespaces, time.Now()), err
}

func (g *getting) child(_ context.Context, object *unstructured.Unstructured) listing.List {
	var children []installed.Child
	if child, ok := g.rule.ChildOf(object); ok {
		children = append(children, child)
	}
	return installed.ChildList(children, g.where.allNamespaces, time.Now())
}

// rules prints the rules with the names, or all that the query chooses, and then those that change if that is asked for.
func (g *getting) rules(cmd *cobra.Command, names []string) error {
	ctx := cmd.Context()
	var watches []follow.Watch
	if g.watch {
		var err error
		if watches, err = installed.Watches(ctx, g.client, g.kanonNamespace()); err != nil {
			return err
		}
	}
	chosen, missing := g.choose(names)
	if len(chosen) == 0 && len(missing) > 0 {
		return errors.Join(missing...)
	}
	list, err := g.list(ctx, chosen)
	if err != nil {
		return err
	}
	list.Single = len(names) == 1
	if len(chosen) == 0 && g.printer.Format.IsTable() && !g.watch {
		err = say(cmd.ErrOrStderr(), "No rules found. Kanon's namespace is taken to be %s; --kanon-namespace names another\n", g.kanonNamespace())
	} else {
		err = g.printer.Print(list)
	}
	for _, problem := range g.live.rules.Problems {
		if len(names) == 0 && err == nil {
			err = say(cmd.ErrOrStderr(), "Warning: %s: %s\n", problem.Where, problem.Message)
		}
	}
	if err := errors.Join(append(missing, err)...); err != nil || !g.watch {
		return err
	}
	return g.follow(ctx, watches, names, list)
}

func (g *getting) kanonNamespace() string { return g.where.kanonNamespace }

// choose are the rules that are asked for. The errors say which do not exist.
func (g *getting) choose(names []string) (chosen []*installed.Rule, missing []error) {
	for _, name := range names {
		rule, err := g.live.rules.Find(name)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		chosen = append(chosen, rule)
	}
	if len(names) > 0 {
		return chosen, missing
	}
	namespace := g.where.namespace
	return slices.DeleteFunc(slices.Clone(g.live.rules.All), func(rule *installed.Rule) bool {
		return namespace != "" && rule.Name.Namespace != namespace || g.query.Selector != nil && !g.query.Selector.Matches(labels.Set(rule.Labels()))
	}), nil
}

// countWorkers is how many rules have their objects counted at the same time.
const countWorkers = 8

// list is a list of rules, with counts where they are printed.
func (g *getting) list(ctx context.Context, chosen []*installed.Rule) (listing.List, error) {
	if g.printer.Format != listing.Name {
		reader, err := g.live.reader(ctx)
		if err != nil {
			return listing.List{}, err
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(countWorkers)
		for _, rule := range chosen {
			group.Go(func() error { return reader.Count(ctx, rule) })
		}
		if err := group.Wait(); err != nil {
			return listing.List{}, err
		}
	}
	return installed.ListOf(chosen, time.Now()), nil
}

// follow prints each rule again that is another one than it was printed last.
func (g *getting) follow(ctx context.Context, watches []follow.Watch, names []string, printed listing.List) error {
	rows := make(map[string]listing.Row)
	keep := func(list listing.List) {
		for _, row := range list.Rows {
			rows[row.Name] = row
		}
	}
	keep(printed)
	return follow.Objects(ctx, func(watch.EventType, *unstructured.Unstructured) error {
		now, err := installed.List(ctx, g.client, g.kanonNamespace())
		if err != nil {
			return err
		}
		g.live.rules = now
		chosen, _ := g.choose(names)
		list, err := g.list(ctx, chosen)
		if err != nil {
			return err
		}
		changed := list
		changed.Rows = slices.DeleteFunc(slices.Clone(list.Rows), func(row listing.Row) bool {
			return installed.IsSameRow(rows[row.Name], row)
		})
		keep(list)
		if len(changed.Rows) == 0 {
			return nil
		}
		return g.printer.Print(changed)
	}, watches...)
}
