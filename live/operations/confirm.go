package operations

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/live/installed"
	"kanon.dev/kanon/rules/syntax"
)

// ConfirmPrune confirms the revision of a rule that the prune guard blocks. Earlier confirmations of revisions that
// rules of the same origin still have are kept. If a rule of the origin is refused, all are kept: an earlier revision
// of it may run.
func (d Desk) ConfirmPrune(ctx context.Context, rules *installed.Rules, rule *installed.Rule) (Change, error) {
	kept := func(string) bool { return true }
	if rule.Object != nil && !slices.ContainsFunc(rules.All, func(other *installed.Rule) bool {
		return other.Origin == rule.Origin && (other.State == installed.Refused || other.State == installed.DefinitionHeld)
	}) {
		kept = func(revision string) bool {
			return slices.ContainsFunc(rules.All, func(other *installed.Rule) bool { return other.Origin == rule.Origin && other.Revision() == revision })
		}
	}
	if err := CanConfirm(rule); err != nil {
		return Change{}, err
	}
	about, err := d.annotatedOf(ctx, rule, rules.Namespace)
	if err != nil {
		return Change{}, err
	}
	return about.confirm(ctx, source.AnnotationConfirmPrune, rule.PruneHeld.Revision, kept)
}

// CanConfirm returns an error if the blocked revision is not known.
func CanConfirm(rule *installed.Rule) error {
	if rule.PruneHeld.Revision != "" {
		return nil
	}
	return fmt.Errorf("an earlier version of Kanon reported on rule %s, without the revision that is to be confirmed: wait until this version runs and reports on it",
		rule.Name)
}

// ConfirmDefinition confirms the change of a CustomResourceDefinition that token names. Earlier confirmations are kept.
func (d Desk) ConfirmDefinition(ctx context.Context, rule *installed.Rule, token string) (Change, error) {
	resource, err := d.resourceOf(rule, fmt.Sprintf("add %s: %q to metadata.annotations of the rule", source.AnnotationConfirmDefinition, token))
	if err != nil {
		return Change{}, err
	}
	return annotated{resource, rule.Object}.confirm(ctx, source.AnnotationConfirmDefinition, token, func(string) bool { return true })
}

// confirm adds a value to an annotation. kept reports whether an earlier value is kept.
func (a annotated) confirm(ctx context.Context, annotation, value string, kept func(string) bool) (Change, error) {
	return retryConflicts(ctx, a.resource, a.object, func(object *unstructured.Unstructured) (Change, error) {
		change := Change{Where: nameOf(object), Done: true}
		before := syntax.ConfirmedRevisions(object.GetAnnotations()[annotation])
		if object != a.object {
			kept = func(string) bool { return true } // the rules may have changed with the object
		}
		confirmed := slices.DeleteFunc(before, func(other string) bool { return other == value || !kept(other) })
		confirmed = append(confirmed, value)
		var err error
		change.Warnings, err = patch(ctx, a.resource, object, map[string]any{"metadata": map[string]any{
			"resourceVersion": object.GetResourceVersion(),
			"annotations":     map[string]any{annotation: strings.Join(confirmed[max(0, len(confirmed)-maxConfirmed):], ",")},
		}}, "metadata", "annotations", annotation)
		return change, err
	})
}

// maxConfirmed bounds the confirmations in an annotation. Each is used once.
const maxConfirmed = 200

// Count is a number of objects of a kind.
type Count struct {
	Kind string
	N    int
}

// Deletions counts the blocked deletions by kind.
func Deletions(held *installed.PruneBlock) []Count {
	var counts []Count
	add := func(kind string, n int) {
		if at := slices.IndexFunc(counts, func(c Count) bool { return c.Kind == kind }); at >= 0 {
			counts[at].N += n
			return
		}
		counts = append(counts, Count{kind, n})
	}
	for _, object := range held.Objects {
		kind, _, _ := strings.Cut(object, " ")
		add(kind, 1)
	}
	for _, more := range held.More {
		var n int
		var kind string
		if _, err := fmt.Sscanf(more, "%d %s", &n, &kind); err == nil {
			add(kind, n)
		}
	}
	slices.SortStableFunc(counts, func(a, b Count) int { return b.N - a.N })
	return counts
}
