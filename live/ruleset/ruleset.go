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

// Options are what a Set works with. All fields but Limits are needed.
type Options struct {
	Client dynamic.Interface
	Kinds  *manifests.Kinds
	// Namespace is Kanon's own.
	Namespace string
	// Limits are those that the programs of rules in a cluster get.
	Limits template.Limits
}

// Set is the rules of a cluster, and those of files.
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

// Refresh reads which rules the cluster has now.
func (s *Set) Refresh(ctx context.Context) error {
	all, err := installed.List(ctx, s.options.Client, s.options.Namespace)
	if err == nil {
		s.Install(all)
	}
	return err
}

// Install replaces the rules of the cluster by those that package installed has read.
func (s *Set) Install(all *installed.Rules) {
	s.installed = nil
	for _, rule := range all.All {
		s.installed = append(s.installed, &Rule{Name: rule.Name, ID: rule.ID, Decoded: rule.Decoded, set: s, there: rule})
	}
}

// All are the rules: those of the cluster for which no file stands, and then those of files.
func (s *Set) All() []*Rule {
	others := slices.DeleteFunc(slices.Clone(s.installed), func(rule *Rule) bool {
		return slices.ContainsFunc(s.files, func(file *Rule) bool { return file.ID == rule.ID })
	})
	return append(others, s.files...)
}

// For are the rules that may select an object as a parent, by all of spec.parent but when. Of a rule without a text, no more is known
// than the kind.
func (s *Set) For(ctx context.Context, object *unstructured.Unstructured) []*Rule {
	labels := installed.NamespaceLabels(ctx, s.options.Client)
	return slices.DeleteFunc(s.All(), func(rule *Rule) bool {
		return rule.isRemoved() || rule.parentKind() != object.GroupVersionKind().GroupKind() ||
			rule.Decoded != nil && !rule.Decoded.MaySelect(object, labels)
	})
}
