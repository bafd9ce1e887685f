package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/author/explain"
	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/author/live/livepreview"
	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// EvalOptions configure an evaluation.
type EvalOptions struct {
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
	LiveFlags
}

// Session makes a session. It connects to a cluster only if Parent is in one. The error may be a *explain.FindingsError.
func (o *EvalOptions) Session(cmd *cobra.Command) (*explain.Session, error) {
	prepare := o.offline
	if o.InCluster() {
		prepare = o.live
	}
	rule, kinds, evaluate, err := prepare(cmd)
	if err != nil {
		return nil, err
	}
	options := o.Options()
	options.Kinds, options.Schemas = kinds, kinds
	return explain.NewSession(explain.SessionOptions{
		Rule: rule, Compile: options, Child: o.Child, Item: o.Item, NoParent: o.Parent == "", Evaluate: evaluate,
	})
}

// evaluator evaluates a program for the parent.
type evaluator func(*program.Program) (*preview.Preview, error)

// InCluster reports whether Parent is in a cluster.
func (o *EvalOptions) InCluster() bool {
	if o.Parent == "" || manifests.IsFileName(o.Parent) {
		return false
	}
	_, err := os.Stat(o.Parent)
	return err != nil && strings.Contains(o.Parent, "/")
}

// offline evaluates without a cluster.
func (o *EvalOptions) offline(cmd *cobra.Command) (*syntax.Rule, *manifests.Kinds, evaluator, error) {
	var files []string
	if o.Parent != "" {
		files = append(files, o.Parent)
	}
	parents, err := ReadObjects(cmd, files)
	if err != nil {
		return nil, nil, nil, err
	}
	with, err := ReadObjects(cmd, o.With)
	if err != nil {
		return nil, nil, nil, err
	}
	choose := o.choose
	read := func() (*manifests.Checked, *manifests.Kinds, error) {
		return ReadRules(cmd, []string{o.Rule}, o.Schemas, o.Options())
	}
	if o.Rule == "" {
		choose, read = o.withoutRule, func() (*manifests.Checked, *manifests.Kinds, error) { return o.readSchemas(cmd) }
	}
	checked, kinds, err := read()
	if err != nil {
		return nil, nil, nil, err
	}
	rule, parent, err := choose(checked, parents)
	if err != nil {
		return nil, nil, nil, err
	}
	kinds.InDefaultNamespace(checked.Programs, append(with, parent))
	in := preview.Input{Parent: parent, With: with, Now: o.Now, Namespace: o.KanonNamespace, Definitions: checked.CRDs}
	return rule, kinds, func(p *program.Program) (*preview.Preview, error) {
		in.Program = p
		return preview.Evaluate(cmd.Context(), in)
	}, nil
}

// ReadObjects reads the objects in files. An object that occurs twice is a usage error.
func ReadObjects(cmd *cobra.Command, names []string) ([]*unstructured.Unstructured, error) {
	files, err := manifests.Read(names, cmd.InOrStdin())
	if err != nil {
		return nil, Usagef(cmd, "%w", err)
	}
	objects, err := manifests.DistinctObjects(files)
	return objects, AsGiven(cmd, err)
}

// readSchemas reads definitions of kinds, and no rules.
func (o *EvalOptions) readSchemas(cmd *cobra.Command) (*manifests.Checked, *manifests.Kinds, error) {
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		return nil, nil, err
	}
	schemas, err := manifests.ReadSchemas(o.Schemas, cmd.InOrStdin())
	if err != nil {
		return nil, nil, Usagef(cmd, "%w", err)
	}
	checked, err := manifests.Check(cmd.Context(), nil, schemas, kinds, o.Options())
	return checked, kinds, err
}

// choose finds the one pair of a rule in a file and a parent of its kind.
func (o *EvalOptions) choose(checked *manifests.Checked, parents []*unstructured.Unstructured) (*syntax.Rule, *unstructured.Unstructured, error) {
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

// withoutRule makes a rule for the one parent, or for none.
func (o *EvalOptions) withoutRule(_ *manifests.Checked, parents []*unstructured.Unstructured) (*syntax.Rule, *unstructured.Unstructured, error) {
	if o.Parent == "" {
		parents = []*unstructured.Unstructured{{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "none", "namespace": "none"}}}}
	} else if len(parents) != 1 {
		return nil, nil, fmt.Errorf("%s has %s: name a file with one", o.Parent, diagnostic.Counted(len(parents), "object"))
	}
	rule, err := ruleFor(parents[0].GroupVersionKind())
	return rule, parents[0], err
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
func (o *EvalOptions) live(cmd *cobra.Command) (_ *syntax.Rule, kinds *manifests.Kinds, _ evaluator, err error) {
	arg, _, err := ParseObject(cmd, []string{o.Parent})
	if err != nil {
		return nil, nil, nil, err
	}
	there, err := o.Open(cmd)
	if err != nil {
		return nil, nil, nil, err
	}
	defer SayIfSlow(cmd.ErrOrStderr(), "Asking "+there.Config.Host+"…")()
	ctx := cmd.Context()
	parent, err := there.Read(ctx, arg)
	if err == nil {
		kinds, err = there.Kinds(ctx)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	rule, err := o.liveRule(cmd, there, parent)
	if err != nil {
		return nil, nil, nil, err
	}
	_, _, err = manifests.Compile(ctx, rule, kinds, o.Options()) // loads the schemas into kinds
	return rule, kinds, func(p *program.Program) (*preview.Preview, error) {
		made, err := livepreview.New(livepreview.Options{Client: there.Client, Kinds: kinds, Program: p, Namespace: o.KanonNamespace, Now: o.Now}).Preview(ctx, parent)
		if err != nil {
			return nil, err
		}
		return made.Preview, nil
	}, err
}

// Children lists the ids of the rule's children for shell completion; none if they are unknown.
func (o *EvalOptions) Children(cmd *cobra.Command) []cobra.Completion {
	var decoded []*syntax.Rule
	if manifests.IsFileName(o.Rule) {
		decoded = DecodedRules(o.Rule)
	} else if rule, err := o.Installed(cmd).Find(o.Rule); err == nil && rule.Decoded != nil {
		decoded = []*syntax.Rule{rule.Decoded}
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
func (o *EvalOptions) liveRule(cmd *cobra.Command, there *Live, parent *unstructured.Unstructured) (*syntax.Rule, error) {
	gvk := parent.GroupVersionKind()
	if o.Rule == "" {
		return ruleFor(gvk)
	}
	if _, err := os.Stat(o.Rule); err == nil || manifests.IsFileName(o.Rule) {
		files, err := manifests.Read([]string{o.Rule}, cmd.InOrStdin())
		if err != nil {
			return nil, Usagef(cmd, "%w", err)
		}
		checked, err := CheckRules(cmd, o.Rule, files, nil, there.kinds, o.Options())
		if err != nil {
			return nil, err
		}
		rule, _, err := o.choose(checked, []*unstructured.Unstructured{parent})
		return rule, err
	}
	all, err := live.ListRules(cmd.Context(), there.Client, o.KanonNamespace)
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
