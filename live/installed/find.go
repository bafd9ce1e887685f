package installed

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/offline/manifests"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/template"
)

// Find finds a rule by NAMESPACE/NAME, or by NAME if only one namespace has such a rule. If no rule has the name, the
// error is a *NotFoundError.
func (r *Rules) Find(name string) (*Rule, error) {
	namespace, short, qualified := cutName(name)
	var found []*Rule
	var names []string
	for _, rule := range r.All {
		if rule.Name.Name == short && (!qualified || rule.Name.Namespace == namespace) {
			found = append(found, rule)
		}
		if names = append(names, rule.Name.Name); qualified {
			names[len(names)-1] = rule.Name.String()
		}
	}
	switch len(found) {
	case 0:
		near, _ := diagnostic.Nearest(name, names)
		return nil, &NotFoundError{Name: name, Near: near, Namespace: r.Namespace, None: len(r.All) == 0}
	case 1:
		return found[0], nil
	default:
		var all []string
		for _, rule := range found {
			all = append(all, rule.Name.String())
		}
		return nil, fmt.Errorf("several rules are called %s: name one of %s", name, strings.Join(all, ", "))
	}
}

// cutName splits NAMESPACE/NAME. A bare name has no namespace.
func cutName(name string) (namespace, short string, qualified bool) {
	if namespace, short, qualified = strings.Cut(name, "/"); !qualified {
		return "", name, false
	}
	return namespace, short, true
}

// OfParents returns the rules for parents of a kind, in any version.
func (r *Rules) OfParents(kind schema.GroupKind) []*Rule {
	return slices.DeleteFunc(slices.Clone(r.All), func(rule *Rule) bool { return rule.ParentKind().GroupKind() != kind })
}

// Selecting returns the rules that may select an object: those for its kind whose spec.parent matches, apart from when.
// For a rule in a file, only the kind counts. namespaceLabels is the result of NamespaceLabels.
func (r *Rules) Selecting(object *unstructured.Unstructured, namespaceLabels func(name string) (labels.Set, bool)) []*Rule {
	return slices.DeleteFunc(r.OfParents(object.GroupVersionKind().GroupKind()), func(rule *Rule) bool {
		return rule.State == Removing || rule.Decoded != nil && !rule.Decoded.MaySelect(object, namespaceLabels)
	})
}

// NamespaceLabels returns a function that reads the labels of namespaces, each once. false means that they cannot be
// read.
func NamespaceLabels(ctx context.Context, client dynamic.Interface) func(name string) (labels.Set, bool) {
	type answer struct {
		labels labels.Set
		known  bool
	}
	read := make(map[string]answer)
	return func(name string) (labels.Set, bool) {
		got, done := read[name]
		if !done {
			namespace, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Get(ctx, name, metav1.GetOptions{})
			if err == nil {
				got = answer{namespace.GetLabels(), true}
			}
			read[name] = got
		}
		return got.labels, got.known
	}
}

// Compile compiles the rule against a cluster's kinds, as Kanon does. The program is nil if the findings have errors.
// The error reports that the cluster has no text of the rule, or that schemas cannot be read.
func (rule *Rule) Compile(ctx context.Context, kinds *manifests.Kinds, namespace string, limits template.Limits) (*program.Program, diagnostic.Findings, error) {
	if rule.Decoded == nil {
		return nil, nil, fmt.Errorf("rule %s is in the file %s, which only Kanon reads", rule.Name, rule.Origin.Path)
	}
	options := rules.Options{Namespace: namespace, Limits: limits}
	if rule.Confined {
		options.Namespace, options.Confined = rule.Name.Namespace, true
	}
	return manifests.Compile(ctx, rule.Decoded, kinds, options)
}
