package workbench

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/cmd/kanon/internal/connection"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/inventory"
	"kanon.dev/kanon/cmd/kanon/internal/rulefiles"
	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/kinds/definitions"
	"kanon.dev/kanon/live/installed"
	"kanon.dev/kanon/live/livepreview"
	"kanon.dev/kanon/offline/console"
	"kanon.dev/kanon/offline/manifests"
	"kanon.dev/kanon/offline/preview"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/syntax"
)

// Options configure an evaluation.
type Options struct {
	// Parent is a file, or KIND/NAME in the cluster. It may be empty.
	Parent string
	// Rule is a file with a rule or the name of an installed rule, whose names expressions can use. It may be empty.
	Rule string
	// With are files with objects of the cluster, and Schemas files with definitions of kinds. Both are for a Parent in
	// a file.
	With, Schemas []string
	// Child is the child whose names expressions can use, and Item the item of its forEach. Child may be empty.
	Child string
	Item  int
	// Now is the value of now in expressions.
	Now time.Time
	// Namespace is the parent's namespace in the cluster, and KanonNamespace Kanon's own.
	Namespace, KanonNamespace string
	Limits                    template.Limits
	Cluster                   connection.Flags
}

// Open makes a session. It connects to a cluster only if Parent is in one. The error may be a *console.FindingsError.
func (o *Options) Open(cmd *cobra.Command) (*console.Session, error) {
	if o.InCluster() {
		return o.live(cmd)
	}
	return o.offline(cmd)
}

// InCluster reports whether Parent is in a cluster.
func (o *Options) InCluster() bool {
	if o.Parent == "" || manifests.IsFileName(o.Parent) {
		return false
	}
	_, err := os.Stat(o.Parent)
	return err != nil && strings.Contains(o.Parent, "/")
}

// offline evaluates without a cluster.
func (o *Options) offline(cmd *cobra.Command) (*console.Session, error) {
	var parents, with []*unstructured.Unstructured
	for _, in := range []struct {
		args []string
		into *[]*unstructured.Unstructured
	}{{o.parents(), &parents}, {o.With, &with}} {
		files, err := manifests.Read(in.args, cmd.InOrStdin())
		if err != nil {
			return nil, exit.Usagef(cmd, "%w", err)
		}
		if *in.into, err = manifests.DistinctObjects(files); err != nil {
			return nil, rulefiles.AsGiven(cmd, err)
		}
	}
	options := rules.Options{Namespace: o.KanonNamespace, Limits: o.Limits}
	if o.Rule == "" {
		return o.withoutRule(cmd, parents, options)
	}
	checked, kinds, err := rulefiles.Read(cmd, []string{o.Rule}, o.Schemas, options)
	if err != nil {
		return nil, err
	}
	rule, parent, err := o.choose(checked, parents)
	if err != nil {
		return nil, err
	}
	known, err := definitions.NewKinds(checked.CRDs)
	if err != nil {
		return nil, err
	}
	known.Fill(parent)
	kinds.InDefaultNamespace(checked.Programs, append(with, parent))
	options.Kinds, options.Schemas = kinds, kinds
	return console.New(console.Options{Rule: rule, Compile: options, Child: o.Child, Item: o.Item, Evaluate: previewing(cmd.Context(), preview.Input{
		Parent: parent, With: with, Now: o.Now, Namespace: o.KanonNamespace, Schema: kinds.Schema, HasStatus: kinds.HasStatus,
	})})
}

// parents are the files with the parent.
func (o *Options) parents() []string {
	if o.Parent == "" {
		return nil
	}
	return []string{o.Parent}
}

// previewing returns a function that previews a program with the given input.
func previewing(ctx context.Context, in preview.Input) func(*program.Program) (*preview.Preview, error) {
	return func(p *program.Program) (*preview.Preview, error) {
		in.Program = p
		return preview.Evaluate(ctx, in), nil
	}
}

// choose finds the one pair of a rule in a file and a parent of its kind.
func (o *Options) choose(checked *manifests.Checked, parents []*unstructured.Unstructured) (*syntax.Rule, *unstructured.Unstructured, error) {
	type pair struct {
		rule   *syntax.Rule
		parent *unstructured.Unstructured
	}
	var pairs []pair
	var kinds []string
	for _, rule := range checked.Decoded {
		kinds = append(kinds, rule.ParentKind().Kind)
		for _, parent := range parents {
			if parent.GroupVersionKind() == rule.ParentKind() {
				pairs = append(pairs, pair{rule, parent})
			}
		}
	}
	switch len(pairs) {
	case 1:
		return pairs[0].rule, pairs[0].parent, nil
	case 0:
		return nil, nil, fmt.Errorf("there is no parent for the rule in %s: name one of kind %s", o.Parent, strings.Join(kinds, " or "))
	}
	return nil, nil, fmt.Errorf("%s and %s have %d pairs of a rule and a parent: name files with one", o.Rule, o.Parent, len(pairs))
}

// withoutRule evaluates with only a parent, or with nothing.
func (o *Options) withoutRule(cmd *cobra.Command, parents []*unstructured.Unstructured, options rules.Options) (*console.Session, error) {
	if o.Parent != "" && len(parents) != 1 {
		return nil, fmt.Errorf("%s has %s: name a file with one", o.Parent, diagnostic.Counted(len(parents), "object"))
	}
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		return nil, err
	}
	definitions, err := manifests.ReadSchemas(o.Schemas, cmd.InOrStdin())
	if err != nil {
		return nil, exit.Usagef(cmd, "%w", err)
	}
	if _, err := manifests.Check(cmd.Context(), nil, definitions, kinds, options); err != nil {
		return nil, err
	}
	parent := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "none", "namespace": "none"}}}
	if len(parents) == 1 {
		parent = parents[0]
	}
	rule, err := ruleFor(parent.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	options.Kinds, options.Schemas = kinds, kinds
	return console.New(console.Options{
		Rule: rule, Compile: options, NoParent: len(parents) == 0, Evaluate: previewing(cmd.Context(), preview.Input{Parent: parent, Now: o.Now, Namespace: o.KanonNamespace, Schema: kinds.Schema, HasStatus: kinds.HasStatus}),
	})
}

// ruleFor is a rule with a parent kind and nothing else.
func ruleFor(gvk schema.GroupVersionKind) (*syntax.Rule, error) {
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: eval}\nspec:\n  parent: {apiVersion: %q, kind: %q}\n", syntax.APIVersion, syntax.RuleKind, gvk.GroupVersion(), gvk.Kind)
	docs, findings := syntax.Decode("eval", []byte(text))
	if len(docs.Rules) != 1 {
		return nil, fmt.Errorf("%s in %s cannot be a parent: %w", gvk.Kind, gvk.GroupVersion(), findings.Err())
	}
	return docs.Rules[0], nil
}

// live evaluates with the objects of the cluster.
func (o *Options) live(cmd *cobra.Command) (*console.Session, error) {
	arg, _, err := connection.ParseObject(cmd, []string{o.Parent})
	if err != nil {
		return nil, err
	}
	config, err := o.Cluster.Reach(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	done := terminal.SayIfSlow(cmd.ErrOrStderr(), "Asking "+config.Host+"…")
	defer done()
	ctx := cmd.Context()
	parent, err := arg.Read(ctx, &o.Cluster, config, client, o.Namespace)
	if err != nil {
		return nil, exit.OfCluster(config.Host, err)
	}
	kinds, err := manifests.ClusterKinds(ctx, config)
	if err != nil {
		return nil, exit.OfCluster(config.Host, err)
	}
	rule, err := o.liveRule(cmd, client, kinds, parent)
	if err != nil {
		return nil, exit.OfCluster(config.Host, err)
	}
	options := rules.Options{Namespace: o.KanonNamespace, Limits: o.Limits}
	if _, _, err := manifests.Compile(ctx, rule, kinds, options); err != nil { // loads the schemas into kinds
		return nil, exit.OfCluster(config.Host, err)
	}
	options.Kinds, options.Schemas = kinds, kinds
	session, err := console.New(console.Options{
		Rule: rule, Compile: options, Child: o.Child, Item: o.Item,
		Evaluate: func(p *program.Program) (*preview.Preview, error) {
			made, err := livepreview.New(livepreview.Options{Client: client, Kinds: kinds, Program: p, Namespace: o.KanonNamespace, Now: o.Now}).Preview(ctx, parent)
			if err != nil {
				return nil, err
			}
			return made.Preview, nil
		},
	})
	return session, exit.OfCluster(config.Host, err)
}

// Children lists the ids of the rule's children for shell completion; none if they are unknown.
func (o *Options) Children(cmd *cobra.Command) []cobra.Completion {
	var decoded []*syntax.Rule
	if manifests.IsFileName(o.Rule) {
		decoded = rulefiles.Decoded(o.Rule)
	} else if o.Rule != "" {
		there := inventory.Flags{KanonNamespace: o.KanonNamespace, Cluster: o.Cluster}
		if rule := there.Rule(cmd, o.Rule); rule != nil && rule.Decoded != nil {
			decoded = []*syntax.Rule{rule.Decoded}
		}
	}
	var ids []cobra.Completion
	for _, rule := range decoded {
		for i := range rule.Children {
			ids = append(ids, cobra.CompletionWithDesc(rule.Children[i].ID, syntax.TemplateGVK(rule.Children[i].Template).Kind))
		}
	}
	return ids
}

// liveRule is the rule for a parent in the cluster: from a file, an installed one, or one with only the parent.
func (o *Options) liveRule(cmd *cobra.Command, client dynamic.Interface, kinds *manifests.Kinds, parent *unstructured.Unstructured) (*syntax.Rule, error) {
	gvk := parent.GroupVersionKind()
	if o.Rule == "" {
		return ruleFor(gvk)
	}
	if _, err := os.Stat(o.Rule); err == nil || manifests.IsFileName(o.Rule) {
		files, err := manifests.Read([]string{o.Rule}, cmd.InOrStdin())
		if err != nil {
			return nil, exit.Usagef(cmd, "%w", err)
		}
		checked, err := rulefiles.Check(cmd, o.Rule, files, nil, kinds, rules.Options{Namespace: o.KanonNamespace, Limits: o.Limits})
		if err != nil {
			return nil, err
		}
		rule, _, err := o.choose(checked, []*unstructured.Unstructured{parent})
		return rule, err
	}
	all, err := installed.List(cmd.Context(), client, o.KanonNamespace)
	if err != nil {
		return nil, fmt.Errorf("read the rules in namespace %s: %w", o.KanonNamespace, err)
	}
	found, err := all.Find(o.Rule)
	switch {
	case err != nil:
		return nil, err
	case found.Decoded == nil:
		return nil, fmt.Errorf("rule %s is in the file %s, which only Kanon reads: name the file with --rule", found.Name, found.Origin.Path)
	case found.ParentKind().GroupKind() != gvk.GroupKind():
		return nil, fmt.Errorf("rule %s is for %s, and not for %s", found.Name, found.ParentKind().Kind, gvk.Kind)
	}
	return found.Decoded, nil
}
