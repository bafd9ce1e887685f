package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/installed"
	"kanon.dev/kanon/manifests"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/trace"
)

// knownRules are those of the cluster, and those of files.
type knownRules struct {
	client    dynamic.Interface
	kinds     *manifests.Kinds
	namespace string
	limits    template.Limits
	files     *manifests.Checked
	installed *installed.Rules
	// compiled has what rules of the cluster came to, once that was asked.
	compiled map[*installed.Rule]trace.Rule
}

// readFiles reads the rules of files.
func (k *knownRules) readFiles(cmd *cobra.Command, names []string) error {
	k.files = &manifests.Checked{}
	if len(names) == 0 {
		return nil
	}
	files, err := manifests.Read(names, cmd.InOrStdin())
	if err != nil {
		return usageErrorf(cmd, "%w", err)
	}
	k.files, err = checkRules(cmd, strings.Join(names, ", "), files, nil, k.kinds, rules.Options{Namespace: k.namespace, Limits: k.limits})
	return err
}

// refresh reads which rules the cluster has now.
func (k *knownRules) refresh(ctx context.Context) (err error) {
	k.compiled = map[*installed.Rule]trace.Rule{}
	k.installed, err = installed.List(ctx, k.client, k.namespace)
	return err
}

// of are the rules that may be for an object. One in a file stands for the one of the cluster that has its name.
func (k *knownRules) of(ctx context.Context, object *unstructured.Unstructured) ([]trace.Rule, error) {
	labels := installed.NamespaceLabels(ctx, k.client)
	var all []trace.Rule
	var given []string
	for i, decoded := range k.files.Decoded {
		namespace := cmp.Or(decoded.Namespace, k.namespace)
		name := k.nameOf(namespace, decoded.Name)
		given = append(given, name)
		if p := k.files.Programs[i]; p.Parent.GVK.GroupKind() == object.GroupVersionKind().GroupKind() && decoded.MaySelect(object, labels) {
			all = append(all, trace.Rule{Name: name, ID: mark.RuleID(k.namespace, namespace, decoded.Name), Program: p, Suspended: p.Suspend})
		}
	}
	for _, rule := range k.installed.Selecting(object, labels) {
		if slices.Contains(given, k.nameOf(rule.Name.Namespace, rule.Name.Name)) {
			continue
		}
		if _, done := k.compiled[rule]; !done {
			compiled, err := k.compile(ctx, rule)
			if err != nil {
				return nil, err
			}
			k.compiled[rule] = compiled
		}
		all = append(all, k.compiled[rule])
	}
	return all, nil
}

// nameOf is what a rule is called: in another namespace than Kanon's, with that.
func (k *knownRules) nameOf(namespace, name string) string {
	if namespace == k.namespace {
		return name
	}
	return namespace + "/" + name
}

// compile is a rule of the cluster. If it has no program, the kinds of its children are those that Kanon has recorded.
func (k *knownRules) compile(ctx context.Context, rule *installed.Rule) (trace.Rule, error) {
	out := trace.Rule{
		Name: k.nameOf(rule.Name.Namespace, rule.Name.Name), ID: rule.ID,
		Suspended: rule.State == installed.Suspended, Held: rule.State == installed.PruneHeld,
	}
	if rule.Record != nil {
		for _, kind := range rule.Record.Children {
			out.Kinds = append(out.Kinds, kind.GVK())
		}
	}
	switch rule.State {
	case installed.Running:
	case installed.Suspended:
		out.Problems = append(out.Problems, "is suspended: Kanon changes nothing for it")
	case installed.PruneHeld:
		out.Problems = append(out.Problems, "the prune guard blocks deletions; 'kanon confirm-prune "+out.Name+"' allows them")
	default:
		if rule.Decoded != nil {
			out.Problems = append(out.Problems, strings.Split(strings.TrimSpace(rule.Message), "\n")...)
		}
	}
	if rule.Decoded == nil {
		if rule.Origin.Path != "" {
			out.Problems = append(out.Problems, fmt.Sprintf("is in the file %s, which only Kanon's process has; name a copy with -f to see what it renders and why", rule.Origin.Path))
		} else {
			out.Problems = append(out.Problems, rule.Headline())
		}
		return out, nil
	}
	mistakes, err := k.mistakes(ctx, rule, &out)
	if err != nil {
		return out, err
	}
	for i, finding := range mistakes {
		if i == maxMistakes {
			out.Problems = append(out.Problems, fmt.Sprintf("has %d mistakes more", len(mistakes)-i))
			break
		}
		out.Problems = append(out.Problems, finding.String())
	}
	if len(mistakes) > 0 {
		out.Problems = append(out.Problems, "what follows is no more than which children exist: Kanon runs an earlier revision, or none")
	}
	return out, nil
}

// maxMistakes is how many mistakes of a rule are shown.
const maxMistakes = 3

// mistakes are those for which Kanon refuses a rule's text. Without any, the rule gets its program.
func (k *knownRules) mistakes(ctx context.Context, rule *installed.Rule, out *trace.Rule) (diagnostic.Findings, error) {
	decode := syntax.Decode
	if rule.Text.Object {
		decode = syntax.DecodeObject
	}
	_, findings := decode(rule.Text.Name, rule.Text.Data)
	if !findings.HasErrors() {
		compiled, found, err := rule.Compile(ctx, k.kinds, k.namespace, k.limits)
		if err != nil {
			return nil, err
		}
		out.Program, findings = compiled, found
	}
	errs := slices.DeleteFunc(slices.Clone(findings), func(f diagnostic.Finding) bool { return f.Severity != diagnostic.SeverityError })
	if len(errs) > 0 {
		out.Program = nil
	}
	return errs, nil
}
