package inventory

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"

	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/live/follow"
	"kanon.dev/kanon/live/installed"
	"kanon.dev/kanon/live/listing"
	"kanon.dev/kanon/rules/program"
)

// Listing prints rules, or the objects of one rule.
type Listing struct {
	*Live
	// Where has the flags that Query was made from.
	Where   *Flags
	Query   installed.Query
	Printer *listing.Printer
	// Notes receives messages about what the list does not show.
	Notes io.Writer
	// Watch continues with each object that changes.
	Watch bool

	reader *installed.Reader
	rule   *installed.Rule
	// allNamespaces is true if the objects can be in several namespaces.
	allNamespaces bool
	// program caches the compiled rule; nil if the rule has errors.
	program  *program.Program
	compiled bool
	// noted is true once note has printed.
	noted bool
}

// The nouns for the objects of a rule.
const (
	Parents  = "parents"
	Children = "children"
)

// PrintObjects prints the Parents or Children of a rule, and with Watch their changes.
func (g *Listing) PrintObjects(ctx context.Context, rule *installed.Rule, what string) error {
	reader, err := g.Reader(ctx)
	if err != nil {
		return err
	}
	g.reader, g.rule, g.allNamespaces = reader, rule, g.Where.AllNamespaces
	if kind, ok := g.kinds.Lookup(rule.ParentKind()); what == Children && g.Where.Namespace == "" && ok && !kind.Namespaced {
		g.Query.Namespace, g.allNamespaces = "", true // the children of a cluster-scoped parent can be in any namespace
	}
	read, start, row := g.parents, g.reader.ParentWatches, g.parent
	if what == Children {
		read, start, row = g.children, g.reader.ChildWatches, g.child
	}
	var watches []follow.Watch
	if g.Watch {
		if watches, err = start(ctx, g.rule, g.Query); err != nil {
			return err
		}
	}
	list, err := read(ctx)
	if err != nil {
		return err
	}
	if len(list.Rows) == 0 && g.Printer.Format.IsTable() && !g.Watch {
		in := "the cluster: rule " + g.rule.Name.String() + " has no " + what
		if g.Query.Namespace != "" {
			in = "namespace " + g.Query.Namespace + "; " + cmp.Or(installed.NoNamespace(ctx, g.Client, g.Query.Namespace), "-A asks for all namespaces")
		}
		return terminal.Say(g.Notes, "Nothing found in %s\n", in)
	}
	if err := g.Printer.Print(list); err != nil || !g.Watch {
		return err
	}
	return follow.Objects(ctx, func(_ watch.EventType, object *unstructured.Unstructured) error {
		if list := row(ctx, object); len(list.Rows) > 0 {
			return g.Printer.Print(list)
		}
		return nil
	}, watches...)
}

func (g *Listing) parents(ctx context.Context) (listing.List, error) {
	parents, err := g.reader.Parents(ctx, g.rule, g.Query)
	if err == nil {
		err = g.match(ctx, parents)
	}
	return installed.ParentList(parents, g.allNamespaces, time.Now()), err
}

func (g *Listing) parent(ctx context.Context, object *unstructured.Unstructured) listing.List {
	var parents []installed.Parent
	if parent, ok := g.reader.ParentOf(ctx, g.rule, object); ok {
		parents = append(parents, parent)
		_ = g.match(ctx, parents) // without an answer, the conditions still show the last state
	}
	return installed.ParentList(parents, g.allNamespaces, time.Now())
}

func (g *Listing) children(ctx context.Context) (listing.List, error) {
	children, err := g.reader.Children(ctx, g.rule, g.Query)
	if err == nil {
		err = g.judge(ctx, children)
	}
	return installed.ChildList(children, g.allNamespaces, time.Now()), err
}

func (g *Listing) child(ctx context.Context, object *unstructured.Unstructured) listing.List {
	var children []installed.Child
	if child, ok := g.rule.ChildOf(object); ok {
		children = append(children, child)
		_ = g.judge(ctx, children) // without an answer, the readiness of the kind is shown
	}
	return installed.ChildList(children, g.allNamespaces, time.Now())
}

// PrintRules prints the named rules, or all that the query chooses, and with Watch their changes.
func (g *Listing) PrintRules(ctx context.Context, names []string) error {
	var watches []follow.Watch
	if g.Watch {
		var err error
		if watches, err = installed.Watches(ctx, g.Client, g.kanonNamespace()); err != nil {
			return err
		}
		// List again: the watches do not report changes from before they began.
		if g.Rules, err = installed.List(ctx, g.Client, g.kanonNamespace()); err != nil {
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
	if len(chosen) == 0 && g.Printer.Format.IsTable() && !g.Watch {
		err = terminal.Say(g.Notes, "No rules found: %s; --kanon-namespace names another\n",
			cmp.Or(installed.NoNamespace(ctx, g.Client, g.kanonNamespace()), "Kanon's namespace is taken to be "+g.kanonNamespace()))
	} else {
		err = g.Printer.Print(list)
	}
	for _, problem := range g.Rules.Problems {
		if len(names) == 0 && err == nil {
			err = terminal.Say(g.Notes, "Warning: %s: %s\n", problem.Where, problem.Message)
		}
	}
	if err := errors.Join(append(missing, err)...); err != nil || !g.Watch {
		return err
	}
	return g.follow(ctx, watches, names, list)
}

func (g *Listing) kanonNamespace() string { return g.Where.KanonNamespace }

// choose lists the chosen rules. The errors report names that do not exist.
func (g *Listing) choose(names []string) (chosen []*installed.Rule, missing []error) {
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
	namespace := g.Where.Namespace
	return slices.DeleteFunc(slices.Clone(g.Rules.All), func(rule *installed.Rule) bool {
		return namespace != "" && rule.Name.Namespace != namespace || g.Query.Selector != nil && !g.Query.Selector.Matches(labels.Set(rule.Labels()))
	}), nil
}

// countWorkers is the number of rules whose objects are counted concurrently.
const countWorkers = 8

// list is a list of rules, with counts unless only names are printed.
func (g *Listing) list(ctx context.Context, chosen []*installed.Rule) (listing.List, error) {
	if g.Printer.Format != listing.Name {
		reader, err := g.Reader(ctx)
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

// follow prints each rule whose row has changed since it was last printed.
func (g *Listing) follow(ctx context.Context, watches []follow.Watch, names []string, printed listing.List) error {
	rows := make(map[string]listing.Row)
	keep := func(list listing.List) {
		for _, row := range list.Rows {
			rows[row.Name] = row
		}
	}
	keep(printed)
	return follow.Objects(ctx, func(watch.EventType, *unstructured.Unstructured) error {
		now, err := installed.List(ctx, g.Client, g.kanonNamespace())
		if err != nil {
			return err
		}
		g.Rules = now
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
		return g.Printer.Print(changed)
	}, watches...)
}
