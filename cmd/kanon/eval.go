package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/console"
	"kanon.dev/kanon/definitions"
	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/installed"
	"kanon.dev/kanon/livepreview"
	"kanon.dev/kanon/manifests"
	"kanon.dev/kanon/preview"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/syntax"
)

// evalOptions are the flags of kanon eval.
type evalOptions struct {
	parent, rule  string
	with, schemas []string
	child         string
	item          int
	now           string
	output        string
	namespace     string
	// kanonNamespace is Kanon's own.
	kanonNamespace string
	limits         template.Limits
	cluster        clusterFlags
}

func newEvalCommand() *cobra.Command {
	var o evalOptions
	cmd := &cobra.Command{
		Use:   "eval [EXPR]",
		Short: "Evaluate an expression, once or at a prompt",
		Long: `Evaluate an expression as a rule does, and print its value as YAML; its type and its
cost go to standard error. EXPR is an expression without ${ and }, or a template with
${…} in it. Without EXPR, lines of standard input are evaluated one by one; on a terminal
that is a prompt, with history, completion and :help.

--parent gives the parent: a file, or KIND/NAME in the cluster. With --rule, expressions
know the names of the rule: variables, lookups, children, observed. It is a file, or, for
a parent in the cluster, the name of an installed rule. With --child, they know what the
template of that child does: its variables, its forEach names, each and self.

For a parent in a file no cluster is asked: what the rule looks up, and children as they
are, come from --with, as for kanon render. For a parent in the cluster they are read from
there, and nothing is changed.

What is read from Secrets of a cluster is hidden, and so is what is computed from it.
Values of Secrets in files are shown: whoever can name the file can read it.

The exit code is 0, 1 when an expression has mistakes, waits or fails, and 2 when the
command is called wrongly.`,
		Example: `  # An expression that needs nothing
  kanon eval '"a,b".split(",")'

  # What a rule's variable is for a parent in a file
  kanon eval variables.labels --rule rule.yaml --parent parent.yaml --schemas crds/

  # Over the cluster, with the rule that is installed there
  kanon eval children.service.spec.clusterIP --parent webapp/storefront --rule webapp

  # A prompt
  kanon eval --parent webapp/storefront --rule webapp`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageErrorf(cmd, "unexpected argument %q: put quotes around the whole expression", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.eval(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.parent, "parent", "", "the parent: a file, or KIND/NAME in the cluster")
	flags.StringVar(&o.rule, "rule", "", "file with the rule whose names expressions know, or the name of an installed one")
	flags.StringArrayVar(&o.with, "with", nil, "directory or file with objects that the cluster has, for a parent in a file; repeatable")
	flags.StringArrayVar(&o.schemas, "schemas", nil, "directory or file with CustomResourceDefinitions or OpenAPI v3 documents; repeatable")
	flags.StringVar(&o.child, "child", "", "child of the rule whose names expressions know, too")
	flags.IntVar(&o.item, "item", 0, "item of the child's forEach, from 0")
	flags.StringVar(&o.now, "now", "", "the time that expressions see, in RFC 3339; default: the time it is")
	flags.StringVarP(&o.output, "output", "o", "", strings.Join(evalFormats(), ", ")+", with the type and the cost; default: the value")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace of the parent in the cluster; default: that of the kubeconfig")
	flags.StringVar(&o.kanonNamespace, "kanon-namespace", engine.DefaultNamespace, "Kanon's own namespace")
	o.cluster.add(flags, clusterGroup)
	o.cluster.addTimeout(flags, clusterGroup)
	addLimits(flags, &o.limits)
	o.cluster.complete(cmd)
	completeFlag(cmd, "output", evalFormats)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

// evalFormats are the values of --output.
func evalFormats() []cobra.Completion { return []cobra.Completion{"json", "yaml"} }

func (o *evalOptions) eval(cmd *cobra.Command, args []string) error {
	now, err := o.check(cmd, args)
	if err != nil {
		return err
	}
	var session *console.Session
	if o.inCluster() {
		session, err = o.live(cmd, now)
	} else {
		session, err = o.offline(cmd, now)
	}
	wrong := new(console.FindingsError)
	switch {
	case errors.As(err, &wrong):
		printer := diagnostic.Printer{Color: hasColors(cmd.ErrOrStderr())}
		return errors.Join(errFindings, printer.Print(cmd.ErrOrStderr(), wrong.Findings))
	case err != nil:
		return err
	}
	p := &console.Prompt{Session: session, Format: o.output, Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(), Color: hasColors(cmd.ErrOrStderr())}
	if err := o.ask(cmd, p, args); !errors.Is(err, console.ErrFailed) {
		return err
	}
	return errFindings
}

// ask evaluates the argument, or what somebody types.
func (o *evalOptions) ask(cmd *cobra.Command, p *console.Prompt, args []string) error {
	if len(args) == 1 {
		return p.Once(args[0])
	}
	terminal, isFile := cmd.InOrStdin().(*os.File)
	if !isFile || !console.IsTerminal(terminal) || !isTerminal(cmd.OutOrStdout()) {
		return p.Lines(cmd.InOrStdin())
	}
	if _, err := fmt.Fprintln(cmd.ErrOrStderr(), p.Session.Greeting()); err != nil {
		return fmt.Errorf("print the greeting: %w", err)
	}
	return p.Run(terminal)
}

// check finds what is wrong with the flags.
func (o *evalOptions) check(cmd *cobra.Command, args []string) (now time.Time, err error) {
	if err := checkLimits(o.limits); err != nil {
		return now, usageErrorf(cmd, "%w", err)
	}
	if now, err = (&renderOptions{now: o.now}).time(); err != nil {
		return now, usageErrorf(cmd, "%w", err)
	}
	switch {
	case len(args) == 1 && strings.TrimSpace(args[0]) == "":
		return now, usageErrorf(cmd, "the expression is empty")
	case o.output != "" && !slices.Contains(evalFormats(), o.output):
		return now, usageErrorf(cmd, "--output %q is none of %s", o.output, strings.Join(evalFormats(), ", "))
	case o.rule != "" && o.parent == "":
		return now, usageErrorf(cmd, "a rule has values for a parent: name one with --parent")
	case o.child != "" && o.rule == "":
		return now, usageErrorf(cmd, "--child names a child of a rule: name the rule with --rule")
	case o.item != 0 && o.child == "":
		return now, usageErrorf(cmd, "--item is an item of a child's forEach: name the child with --child")
	case len(o.with) > 0 && (o.rule == "" || o.inCluster()):
		return now, usageErrorf(cmd, "--with has the objects that a rule reads for a parent in a file: give --rule and --parent FILE")
	case !o.inCluster() && o.namespace != "":
		return now, usageErrorf(cmd, "--namespace has no effect without a parent in the cluster, as --parent KIND/NAME")
	case !o.inCluster():
		return now, refuseUnused(cmd, "parent KIND/NAME")
	}
	return now, nil
}

// inCluster reports whether the parent is in the cluster.
func (o *evalOptions) inCluster() bool {
	if o.parent == "" || isFileName(o.parent) {
		return false
	}
	_, err := os.Stat(o.parent)
	return err != nil && strings.Contains(o.parent, "/")
}

// isFileName reports whether an argument that can be a file or a name is a file.
func isFileName(arg string) bool {
	return arg == "-" || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(arg))
}

// offline evaluates without a cluster.
func (o *evalOptions) offline(cmd *cobra.Command, now time.Time) (*console.Session, error) {
	var parents, with []*unstructured.Unstructured
	for _, in := range []struct {
		args []string
		into *[]*unstructured.Unstructured
	}{{o.parents(), &parents}, {o.with, &with}} {
		files, err := manifests.Read(in.args, cmd.InOrStdin())
		if err != nil {
			return nil, usageErrorf(cmd, "%w", err)
		}
		if *in.into, err = manifests.Objects(files); err != nil {
			return nil, err
		}
	}
	options := rules.Options{Namespace: o.kanonNamespace, Limits: o.limits}
	if o.rule == "" {
		return o.withoutRule(cmd, parents, options, now)
	}
	checked, kinds, err := readRules(cmd, []string{o.rule}, o.schemas, options)
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
	manifests.InDefaultNamespace(checked.Programs, append(with, parent))
	options.Kinds, options.Schemas = kinds, kinds
	return console.New(console.Options{Rule: rule, Compile: options, Child: o.child, Item: o.item, Evaluate: previewing(cmd.Context(), preview.Input{
		Parent: parent, With: with, Now: now, Namespace: o.kanonNamespace, Schema: kinds.Schema,
	})})
}

// parents are the files with the parent.
func (o *evalOptions) parents() []string {
	if o.parent == "" {
		return nil
	}
	return []string{o.parent}
}

// previewing evaluates a program for a parent, with what in has besides.
func previewing(ctx context.Context, in preview.Input) func(*program.Program) (*preview.Preview, error) {
	return func(p *program.Program) (*preview.Preview, error) {
		in.Program = p
		return preview.Evaluate(ctx, in), nil
	}
}

// choose finds the rule in the file, and the parent that it is for.
func (o *evalOptions) choose(checked *manifests.Checked, parents []*unstructured.Unstructured) (*syntax.Rule, *unstructured.Unstructured, error) {
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
		return nil, nil, fmt.Errorf("there is no parent for the rule in %s: it is for %s", o.parent, strings.Join(kinds, ", "))
	}
	return nil, nil, fmt.Errorf("%s and %s have %d pairs of a rule and a parent: name files with one", o.rule, o.parent, len(pairs))
}

// withoutRule evaluates with nothing but a parent, or without one.
func (o *evalOptions) withoutRule(cmd *cobra.Command, parents []*unstructured.Unstructured, options rules.Options, now time.Time) (*console.Session, error) {
	if o.parent != "" && len(parents) != 1 {
		return nil, fmt.Errorf("%s has %s: name a file with one", o.parent, manifests.Counted(len(parents), "object"))
	}
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		return nil, err
	}
	definitions, err := manifests.ReadSchemas(o.schemas, cmd.InOrStdin())
	if err != nil {
		return nil, usageErrorf(cmd, "%w", err)
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
		Rule: rule, Compile: options, NoParent: len(parents) == 0, Evaluate: previewing(cmd.Context(), preview.Input{Parent: parent, Now: now, Namespace: o.kanonNamespace, Schema: kinds.Schema}),
	})
}

// ruleFor is a rule that has nothing but a parent.
func ruleFor(gvk schema.GroupVersionKind) (*syntax.Rule, error) {
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: eval}\nspec:\n  parent: {apiVersion: %q, kind: %q}\n", syntax.APIVersion, syntax.RuleKind, gvk.GroupVersion(), gvk.Kind)
	docs, findings := syntax.Decode("eval", []byte(text))
	if len(docs.Rules) != 1 {
		return nil, fmt.Errorf("%s in %s cannot be a parent: %w", gvk.Kind, gvk.GroupVersion(), findings.Err())
	}
	return docs.Rules[0], nil
}

// live evaluates with the objects of the cluster.
func (o *evalOptions) live(cmd *cobra.Command, now time.Time) (*console.Session, error) {
	arg, _, err := parseObjectArg(cmd, []string{o.parent})
	if err != nil {
		return nil, err
	}
	config, err := o.cluster.reach(cmd.Context())
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	done := sayIfSlow(cmd.ErrOrStderr(), "Asking "+config.Host+"…")
	defer done()
	ctx := cmd.Context()
	parent, err := arg.read(ctx, &o.cluster, config, client, o.namespace)
	if err != nil {
		return nil, clusterError(config.Host, err)
	}
	kinds, err := manifests.ClusterKinds(ctx, config)
	if err != nil {
		return nil, clusterError(config.Host, err)
	}
	rule, err := o.liveRule(cmd, client, kinds, parent)
	if err != nil {
		return nil, clusterError(config.Host, err)
	}
	options := rules.Options{Namespace: o.kanonNamespace, Limits: o.limits}
	if _, _, err := manifests.Compile(ctx, rule, kinds, options); err != nil { // which reads the schemas
		return nil, clusterError(config.Host, err)
	}
	options.Kinds, options.Schemas = kinds, kinds
	session, err := console.New(console.Options{
		Rule: rule, Compile: options, Child: o.child, Item: o.item, HideSecrets: true,
		Evaluate: func(p *program.Program) (*preview.Preview, error) {
			made, err := livepreview.New(livepreview.Options{Client: client, Kinds: kinds, Program: p, Namespace: o.kanonNamespace, Now: now}).Preview(ctx, parent)
			if err != nil {
				return nil, err
			}
			return made.Preview, nil
		},
	})
	return session, clusterError(config.Host, err)
}

// liveRule is the rule for a parent in the cluster: of a file, an installed one, or one that has nothing but the parent.
func (o *evalOptions) liveRule(cmd *cobra.Command, client dynamic.Interface, kinds *manifests.Kinds, parent *unstructured.Unstructured) (*syntax.Rule, error) {
	gvk := parent.GroupVersionKind()
	if o.rule == "" {
		return ruleFor(gvk)
	}
	if _, err := os.Stat(o.rule); err == nil || isFileName(o.rule) {
		files, err := manifests.Read([]string{o.rule}, cmd.InOrStdin())
		if err != nil {
			return nil, usageErrorf(cmd, "%w", err)
		}
		checked, err := checkRules(cmd, o.rule, files, nil, kinds, rules.Options{Namespace: o.kanonNamespace, Limits: o.limits})
		if err != nil {
			return nil, err
		}
		rule, _, err := o.choose(checked, []*unstructured.Unstructured{parent})
		return rule, err
	}
	all, err := installed.List(cmd.Context(), client, o.kanonNamespace)
	if err != nil {
		return nil, fmt.Errorf("read the rules in namespace %s: %w", o.kanonNamespace, err)
	}
	found, err := all.Find(o.rule)
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
