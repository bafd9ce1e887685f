package fieldset

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/engine/apply/mark"
)

// The value hash in AnnotationApplied covers everything that an apply sends: what the template renders, in the normal
// form by the kind's schema, and the marks of the child. If it differs, an apply is due, but the content may be the
// same, because the schema and the marks can change too. If a decision that cannot be undone depends on the content,
// or whether a change has to wait, AnnotationApplied also has a hash of only what was rendered.

// When a field begins to be ignored, the content does not change: the field stays in the object as it is. So the
// content counts as the same if it was recorded while some of the fields that are relinquished now were applied. When
// a field is no longer ignored, it gets another value, and the content changes.

// maxRelinquished is how many fields may begin to be ignored at once without counting as a change of the content: each
// doubles the number of hashes. Any further ones count as a change.
const maxRelinquished = 6

// Contents returns the hashes of a rendered object that count as the same content: the first without everything that
// the policy ignores, the others with some of the relinquished fields.
func Contents(rendered *unstructured.Unstructured, policy Policy) ([]string, error) {
	always := slices.DeleteFunc(slices.Clone(policy.Ignore), func(path Path) bool {
		return slices.ContainsFunc(policy.Relinquished, path.Equal)
	})
	flips := policy.Relinquished[:min(len(policy.Relinquished), maxRelinquished)]
	always = append(always, policy.Relinquished[len(flips):]...)
	hashes := make([]string, 0, 1<<len(flips))
	for applied := range 1 << len(flips) { // a bit for each relinquished field
		ignored := slices.Clone(always)
		for i, path := range flips {
			if applied&(1<<i) == 0 {
				ignored = append(ignored, path)
			}
		}
		hash, err := contentWithout(rendered, ignored)
		if err != nil {
			return nil, err
		}
		hashes = append(hashes, hash)
	}
	return hashes, nil
}

// contentWithout returns the hash of a rendered object without ignored paths, and without AnnotationRecreated.
func contentWithout(rendered *unstructured.Unstructured, ignored []Path) (string, error) {
	object := runtime.DeepCopyJSON(rendered.Object)
	dropField(object, Path{{Field: "metadata"}, {Field: "annotations"}, {Field: mark.AnnotationRecreated}})
	for _, path := range ignored {
		dropField(object, path)
	}
	hash, err := Digest(object)
	if err != nil {
		return "", fmt.Errorf("hash the content of %s: %w", mark.RefOf(rendered), err)
	}
	return hash, nil
}

// dropField removes what a path names from a value, if it exists, and then what is empty.
func dropField(v any, path Path) {
	step, rest := path[0], path[1:]
	switch v := v.(type) {
	case map[string]any:
		if len(rest) > 0 {
			dropField(v[step.Field], rest)
		}
		if len(rest) == 0 || isEmpty(v[step.Field]) {
			delete(v, step.Field)
		}
	case []any:
		for i, item := range v {
			m, ok := item.(map[string]any)
			switch {
			case !ok || !selects(step, func(name string) any { return m[name] }):
			case len(rest) > 0:
				dropField(m, rest)
			default:
				v[i] = nil // keep the position of other items
			}
		}
	}
}

func isEmpty(v any) bool {
	fields, isMap := v.(map[string]any)
	items, isList := v.([]any)
	return (isMap || isList) && len(fields)+len(items) == 0
}

// Outdated reports whether live was last applied with another content than rendered has, by AnnotationApplied alone,
// regardless of what others changed in live. known is false if live does not record its content.
func Outdated(rendered, live *unstructured.Unstructured, policy Policy) (outdated, known bool) {
	last, ok := mark.Recorded(live)
	if !ok || last.Content == "" {
		return false, false
	}
	all, err := Contents(rendered, policy)
	return !slices.Contains(all, last.Content), err == nil
}
