package live

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules/syntax"
)

// ConfirmPrune confirms the revision of a rule that the prune guard blocks. Earlier confirmations of revisions that
// rules of the same origin still have are kept. If a rule of the origin is refused, all are kept: an earlier revision
// of it may run.
func (d Desk) ConfirmPrune(ctx context.Context, rules *Rules, rule *Rule) (Change, error) {
	var kept func(string) bool
	if rule.Object != nil && !slices.ContainsFunc(rules.All, func(other *Rule) bool {
		return other.Origin == rule.Origin && (other.State == Refused || other.State == DefinitionHeld)
	}) {
		kept = func(revision string) bool {
			return slices.ContainsFunc(rules.All, func(other *Rule) bool { return other.Origin == rule.Origin && other.Revision() == revision })
		}
	}
	return d.confirm(ctx, rule, source.AnnotationConfirmPrune, rule.PruneHeld.Revision, kept)
}

// ConfirmDefinition confirms the change of a CustomResourceDefinition that token names. Earlier confirmations are kept.
func (d Desk) ConfirmDefinition(ctx context.Context, rule *Rule, token string) (Change, error) {
	return d.confirm(ctx, rule, source.AnnotationConfirmDefinition, token, nil)
}

// confirm adds a value to an annotation. kept reports whether an earlier value is kept; nil keeps all.
func (d Desk) confirm(ctx context.Context, rule *Rule, annotation, value string, kept func(string) bool) (Change, error) {
	resource, read, err := d.originOf(ctx, rule)
	if err != nil {
		return Change{}, err
	}
	return retryConflicts(ctx, resource, read, func(object *unstructured.Unstructured) (change Change, err error) {
		// If the object has changed, so may have the rules.
		isKept := func(other string) bool { return other != value && (kept == nil || object != read || kept(other)) }
		confirmed := slices.DeleteFunc(syntax.ConfirmedRevisions(object.GetAnnotations()[annotation]), func(other string) bool { return !isKept(other) })
		confirmed = append(confirmed, value)
		change = Change{Where: nameOf(object), Done: true}
		change.Warnings, err = patch(ctx, resource, object, map[string]any{"metadata": map[string]any{
			"resourceVersion": object.GetResourceVersion(),
			"annotations":     map[string]any{annotation: strings.Join(confirmed[max(0, len(confirmed)-maxConfirmed):], ",")},
		}}, "metadata", "annotations", annotation)
		return change, err
	})
}

// maxConfirmed bounds the confirmations in an annotation. Each is used once.
const maxConfirmed = 200

// KindCount is a number of objects of a kind.
type KindCount struct {
	Kind string
	N    int
}

// Deletions counts the blocked deletions by kind, the most first.
func Deletions(held *PruneBlock) []KindCount {
	var counts []KindCount
	add := func(kind string, n int) {
		if at := slices.IndexFunc(counts, func(c KindCount) bool { return c.Kind == kind }); at >= 0 {
			counts[at].N += n
			return
		}
		counts = append(counts, KindCount{kind, n})
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
	slices.SortStableFunc(counts, func(a, b KindCount) int { return b.N - a.N })
	return counts
}
