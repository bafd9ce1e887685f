package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/rules/diagnostic"
)

// Find finds a rule by NAMESPACE/NAME, or by NAME if only one namespace has such a rule. The error names the rule that
// may have been meant.
func (r *Rules) Find(name string) (*Rule, error) {
	nameOf := func(rule *Rule) string { return rule.Name.Name }
	if strings.Contains(name, "/") {
		nameOf = func(rule *Rule) string { return rule.Name.String() }
	}
	var found, names []string
	var rule *Rule
	for _, other := range r.All {
		if nameOf(other) == name {
			rule, found = other, append(found, other.Name.String())
		}
		names = append(names, nameOf(other))
	}
	near, isNear := diagnostic.Nearest(name, names)
	switch {
	case len(found) == 1:
		return rule, nil
	case len(found) > 1:
		return nil, fmt.Errorf("several rules are called %s: name one of %s", name, strings.Join(found, ", "))
	case isNear:
		return nil, fmt.Errorf("there is no rule %s (did you mean %s?)", name, near)
	case len(names) == 0:
		return nil, fmt.Errorf("there is no rule %s, as namespace %s has none; --kanon-namespace names another", name, r.Namespace)
	default:
		return nil, fmt.Errorf("there is no rule %s; kanon get rules lists all", name)
	}
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
	read := make(map[string]*unstructured.Unstructured)
	return func(name string) (labels.Set, bool) {
		namespace, done := read[name]
		if !done {
			namespace, _ = client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).Get(ctx, name, metav1.GetOptions{})
			read[name] = namespace
		}
		if namespace == nil {
			return nil, false
		}
		return namespace.GetLabels(), true
	}
}

// RefusedDefinitions returns why Kanon would not apply definitions of the rule: that of its schema, and those beside
// the rule. A confirmed change counts as refused until Kanon has applied it. namespace is Kanon's. The error
// reports that the cluster has no text of the rule, that the text has mistakes, or that a request failed.
func (rule *Rule) RefusedDefinitions(
	ctx context.Context, cluster definitions.Cluster, kinds *manifests.Kinds, namespace string,
) (refused []*definitions.Withheld, err error) {
	if rule.Decoded == nil {
		return nil, fmt.Errorf("rule %s is in the file %s, which only Kanon reads: its log has the annotation that confirms the change", rule.Name, rule.Origin.Path)
	}
	docs, findings := decode(rule.Text)
	more, err := manifests.Infer(ctx, &docs, kinds)
	if err != nil {
		return nil, err
	}
	if findings = append(findings, more...); findings.HasErrors() {
		return nil, fmt.Errorf("rule %s has mistakes, so that Kanon changes nothing for it: kanon get rules %s shows them", rule.Name, rule.Name)
	}
	var wanted []definitions.Wanted
	for _, decoded := range docs.Rules {
		if decoded.Name == rule.Decoded.Name && decoded.Namespace == rule.Decoded.Namespace && decoded.Parent.Definition != nil {
			wanted = append(wanted, manifests.WantedOf(decoded, namespace))
		}
	}
	for i, crd := range docs.CRDs {
		if docs.IsBeside(i) {
			wanted = append(wanted, definitions.Wanted{Definition: crd})
		}
	}
	for _, w := range wanted {
		w.Confirmed = nil
		_, err := definitions.Prepare(ctx, cluster, w)
		if refusal, ok := errors.AsType[*definitions.Withheld](err); ok {
			refused = append(refused, refusal)
		} else if err != nil {
			return nil, err
		}
	}
	return refused, nil
}
