package ruleset

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/live/installed"
	"kanon.dev/kanon/offline/manifests"
	"kanon.dev/kanon/rules/program/template"
)

// Options are what a Set needs. All fields but Limits are required.
type Options struct {
	Client dynamic.Interface
	Kinds  *manifests.Kinds
	// Namespace is Kanon's own.
	Namespace string
	// Limits are those of programs of installed rules.
	Limits template.Limits
}

// Set has the rules of a cluster, and those in files.
type Set struct {
	options   Options
	files     []*Rule
	installed []*Rule
}

// New makes a Set without rules.
func New(o Options) *Set { return &Set{options: o} }

// AddFiles adds rules in files.
func (s *Set) AddFiles(checked *manifests.Checked) {
	for i, decoded := range checked.Decoded {
		name := types.NamespacedName{Namespace: cmp.Or(decoded.Namespace, s.options.Namespace), Name: decoded.Name}
		s.files = append(s.files, &Rule{
			Name: name, ID: mark.RuleID(s.options.Namespace, name.Namespace, name.Name), Decoded: decoded,
			set: s, program: checked.Programs[i], isCompiled: true,
		})
	}
}

// Refresh reads the rules of the cluster again.
func (s *Set) Refresh(ctx context.Context) error {
	all, err := installed.List(ctx, s.options.Client, s.options.Namespace)
	if err == nil {
		s.Install(all)
	}
	return err
}

// Install replaces the rules of the cluster.
func (s *Set) Install(all *installed.Rules) {
	s.installed = nil
	for _, rule := range all.All {
		s.installed = append(s.installed, &Rule{Name: rule.Name, ID: rule.ID, Decoded: rule.Decoded, set: s, inCluster: rule})
	}
}

// All lists the rules: those of the cluster that no file replaces, then those in files.
func (s *Set) All() []*Rule {
	others := slices.DeleteFunc(slices.Clone(s.installed), func(rule *Rule) bool {
		return slices.ContainsFunc(s.files, func(file *Rule) bool { return file.ID == rule.ID })
	})
	return append(others, s.files...)
}

// For returns the rules that may select an object as a parent: those for its kind whose spec.parent matches, apart from
// when. For a rule without a text, only the kind counts.
func (s *Set) For(ctx context.Context, object *unstructured.Unstructured) []*Rule {
	labels := installed.NamespaceLabels(ctx, s.options.Client)
	return slices.DeleteFunc(s.All(), func(rule *Rule) bool {
		return rule.isRemoved() || rule.parentKind() != object.GroupVersionKind().GroupKind() ||
			rule.Decoded != nil && !rule.Decoded.MaySelect(object, labels)
	})
}
