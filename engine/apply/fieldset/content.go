package fieldset

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/engine/apply/mark"
)

// The value hash of AnnotationApplied covers all that an apply sends: what the template gives, in the normal form that the
// kind's schema makes of it, and the marks of the child. It tells that an apply is due. It does not tell that the content
// is another one, because a schema and the marks can change too. Where something that cannot be undone depends on that, or
// whether a change has to wait, AnnotationApplied also has a hash of what was rendered and nothing else.

// A field that begins to be ignored is no other content: it stays in the object as it is. So the content counts as the same
// where it was recorded while some of the fields that are relinquished now were applied. A field that is ignored no more
// gets another value, which is another content.

// maxRelinquished is how many fields may have begun to be ignored at the same time without that counting as another
// content, as each doubles what has to be hashed. Of more, the last ones count.
const maxRelinquished = 6

// Contents are the hashes of a rendered object under which the recorded content is the same: the first with all that the
// policy ignores, the others with fewer of the fields that are relinquished.
func Contents(rendered *unstructured.Unstructured, policy Policy) ([]string, error) {
	always := slices.DeleteFunc(slices.Clone(policy.Ignore), func(path Path) bool {
		return slices.ContainsFunc(policy.Relinquished, path.equal)
	})
	flips := policy.Relinquished[:min(len(policy.Relinquished), maxRelinquished)]
	always = append(always, policy.Relinquished[len(flips):]...)
	hashes := make([]string, 0, 1<<len(flips))
	for applied := range 1 << len(flips) { // a bit for each
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

// contentWithout is the hash of a rendered object without what is ignored, and without AnnotationRecreated.
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

// dropField takes what a path names out of a value, as far as it exists, and what is empty after that.
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
			case !ok || !step.selects(func(name string) any { return m[name] }):
			case len(rest) > 0:
				dropField(m, rest)
			default:
				v[i] = nil // its place tells nothing of what it was
			}
		}
	}
}

func isEmpty(v any) bool {
	fields, isMap := v.(map[string]any)
	items, isList := v.([]any)
	return (isMap || isList) && len(fields)+len(items) == 0
}

// Outdated reports whether live was last applied with another content than rendered has, by AnnotationApplied alone: what
// others changed in live is no matter. known is false where live does not say.
func Outdated(rendered, live *unstructured.Unstructured, policy Policy) (outdated, known bool) {
	last, ok := mark.Recorded(live)
	if !ok || last.Content == "" {
		return false, false
	}
	all, err := Contents(rendered, policy)
	return !slices.Contains(all, last.Content), err == nil
}
