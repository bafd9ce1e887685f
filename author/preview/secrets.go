package preview

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/author/redact"
	"kanon.dev/kanon/rules/syntax"
)

// hideSecrets is the object with the values of a Secret hidden.
func hideSecrets(object *unstructured.Unstructured) *unstructured.Unstructured {
	if !syntax.IsSecret(object.GroupVersionKind()) {
		return object
	}
	shown := object.DeepCopy()
	HideSecrets(nil, shown)
	return shown
}

// HideSecrets hides the values in two states of one object, if it is a Secret. One can still see which values differ.
// Either state may be nil.
func HideSecrets(before, after *unstructured.Unstructured) {
	old, updated := secretOf(before), secretOf(after)
	for _, field := range []string{"data", "stringData"} {
		if isMapOrNone(old[field]) && isMapOrNone(updated[field]) {
			hideAll(mapOf(old, field), mapOf(updated, field))
		} else {
			hide(old, updated, field) // not a valid Secret: hide whatever the field contains
		}
	}
	// kubectl apply repeats the whole object here.
	hide(mapOf(mapOf(old, "metadata"), "annotations"), mapOf(mapOf(updated, "metadata"), "annotations"), corev1.LastAppliedConfigAnnotation)
}

// secretOf is the content of a Secret; nil for any other object.
func secretOf(object *unstructured.Unstructured) map[string]any {
	if object == nil || !syntax.IsSecret(object.GroupVersionKind()) {
		return nil
	}
	return object.Object
}

// hideAll hides all values of both mappings.
func hideAll(before, after map[string]any) {
	names := maps.Clone(before)
	if names == nil {
		names = map[string]any{}
	}
	maps.Copy(names, after)
	for name := range names {
		hide(before, after, name)
	}
}

// hide hides one value in those of the mappings that have it.
func hide(before, after map[string]any, name string) {
	was, ok1 := before[name]
	is, ok2 := after[name]
	old, updated := redact.Hidden, redact.Hidden
	if ok1 && ok2 && !equality.Semantic.DeepEqual(was, is) {
		old, updated = redact.HiddenBefore, redact.HiddenAfter
	}
	if ok1 {
		before[name] = old
	}
	if ok2 {
		after[name] = updated
	}
}

func isMapOrNone(value any) bool {
	_, isMap := value.(map[string]any)
	return isMap || value == nil
}

func mapOf(fields map[string]any, name string) map[string]any {
	below, _ := fields[name].(map[string]any)
	return below
}
