package livediff

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/author/preview"
)

// shown returns both sides as YAML, without noise and without values of Secrets.
func (c Change) shown() (before, after []byte) {
	a, b := withoutNoise(c.before), withoutNoise(c.after)
	preview.HideSecrets(a, b)
	old, updated := contentOf(a), contentOf(b)
	if c.lost != nil && old != nil {
		old = c.lost(old, updated)
	}
	was, is := c.secrets.Objects(old, updated)
	return textOf(was), textOf(is)
}

// isEmpty reports whether the diff shows nothing.
func (c Change) isEmpty() bool {
	return bytes.Equal(textOf(contentOf(withoutNoise(c.before))), textOf(contentOf(withoutNoise(c.after))))
}

func contentOf(object *unstructured.Unstructured) map[string]any {
	if object == nil {
		return nil
	}
	return object.Object
}

func textOf(content map[string]any) []byte {
	if content == nil {
		return nil
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		return []byte(err.Error() + "\n")
	}
	return text
}

// withoutNoise copies an object without the fields that change with every write, Kanon's marks and the status.
func withoutNoise(object *unstructured.Unstructured) *unstructured.Unstructured {
	if object == nil {
		return nil
	}
	out := object.DeepCopy()
	for _, field := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	out.SetAnnotations(withoutMarks(out.GetAnnotations()))
	out.SetLabels(withoutMarks(out.GetLabels()))
	out.SetOwnerReferences(nil)
	delete(out.Object, "status")
	if out.GetKind() == "Pod" && out.GetAPIVersion() == "v1" {
		dropTokenVolume(out)
	}
	return out
}

// withoutMarks removes Kanon's marks and kubectl's last-applied annotation from labels or annotations; nil if nothing
// is left.
func withoutMarks(texts map[string]string) map[string]string {
	maps.DeleteFunc(texts, func(name, _ string) bool { return isMark(name) || name == corev1.LastAppliedConfigAnnotation })
	if len(texts) == 0 {
		return nil
	}
	return texts
}

func isMark(name string) bool { return strings.HasPrefix(name, "kanon.dev/") }

// tokenVolume is the prefix of the token volume that the API server adds to each Pod. The rest of its name is random.
const tokenVolume = "kube-api-access-"

// dropTokenVolume removes that volume and its mounts from a Pod.
func dropTokenVolume(pod *unstructured.Unstructured) {
	spec, _ := pod.Object["spec"].(map[string]any)
	dropNamed(spec, "volumes")
	for _, field := range []string{"containers", "initContainers"} {
		containers, _ := spec[field].([]any)
		for _, container := range containers {
			if fields, ok := container.(map[string]any); ok {
				dropNamed(fields, "volumeMounts")
			}
		}
	}
}

// dropNamed removes the items for token volumes from a list.
func dropNamed(fields map[string]any, list string) {
	items, ok := fields[list].([]any)
	if !ok {
		return
	}
	items = slices.DeleteFunc(items, func(item any) bool {
		named, _ := item.(map[string]any)
		name, _ := named["name"].(string)
		return strings.HasPrefix(name, tokenVolume)
	})
	if fields[list] = items; len(items) == 0 {
		delete(fields, list)
	}
}
