package operations

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/live/installed"
)

// Manager is the field manager of this package's writes.
const Manager = "kanon-cli"

// Desk writes to the cluster for its user.
type Desk struct {
	Client dynamic.Interface
}

// Change is the result of a write.
type Change struct {
	// Where names the changed object, such as configmap/kanon-system/web.
	Where string
	// Done is false if nothing had to change.
	Done bool
	// Warnings name other managers that apply the field and may revert it.
	Warnings []string
}

// maxConflicts bounds the retries after conflicts.
const maxConflicts = 5

// retryConflicts calls change with an object. After a conflict, it reads the object and calls change again.
func retryConflicts(ctx context.Context, resource dynamic.ResourceInterface, object *unstructured.Unstructured, change func(*unstructured.Unstructured) (Change, error)) (Change, error) {
	for n := 0; ; n++ {
		made, err := change(object)
		if !apierrors.IsConflict(err) || n >= maxConflicts {
			return made, err
		}
		if object, err = resource.Get(ctx, object.GetName(), metav1.GetOptions{}); err != nil {
			return Change{}, fmt.Errorf("read it again, because somebody else changed it: %w", err)
		}
	}
}

// patch sends a merge patch for an object, guarded by its UID. path is the field that the patch sets. If the patch has
// a resourceVersion, the object must not have changed either.
func patch(ctx context.Context, resource dynamic.ResourceInterface, object *unstructured.Unstructured, content map[string]any, path ...string) ([]string, error) {
	metadata, _ := content["metadata"].(map[string]any)
	if metadata == nil {
		metadata = make(map[string]any)
		content["metadata"] = metadata
	}
	metadata["uid"] = object.GetUID()
	body, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encode the patch: %w", err)
	}
	answer, err := resource.Patch(ctx, object.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: Manager})
	if err != nil {
		return nil, fmt.Errorf("change %s: %w", nameOf(object), err)
	}
	return warnings(object, answer, path), nil
}

// annotate sets an annotation, or removes it if the value is empty.
func annotate(ctx context.Context, resource dynamic.ResourceInterface, object *unstructured.Unstructured, key, value string) ([]string, error) {
	var to any = value
	if value == "" {
		to = nil
	}
	content := map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: to}}}
	return patch(ctx, resource, object, content, "metadata", "annotations", key)
}

// warnings lists the managers that apply a field, before or after the change, and may revert it: the change takes the
// field from them.
func warnings(before, after *unstructured.Unstructured, path []string) []string {
	var found []string
	for _, entry := range append(before.GetManagedFields(), after.GetManagedFields()...) {
		if entry.Operation != metav1.ManagedFieldsOperationApply || entry.Manager == Manager || entry.FieldsV1 == nil {
			continue
		}
		warning := fmt.Sprintf("%s applies %s and may set it back: change it there, too", entry.Manager, strings.Join(path, "."))
		if owns(entry.FieldsV1.GetRawBytes(), path) && !slices.Contains(found, warning) {
			found = append(found, warning)
		}
	}
	return found
}

// owns reports whether an entry of managedFields has a field.
func owns(fields []byte, path []string) bool {
	var tree map[string]json.RawMessage
	if json.Unmarshal(fields, &tree) != nil {
		return false
	}
	below, ok := tree["f:"+path[0]]
	return ok && (len(path) == 1 || owns(below, path[1:]))
}

// nameOf names an object in messages.
func nameOf(object *unstructured.Unstructured) string {
	name := installed.ShortName(object)
	if namespace := object.GetNamespace(); namespace != "" {
		return name + " in namespace " + namespace
	}
	return name
}

// annotated is an object whose annotations are about a rule.
type annotated struct {
	resource dynamic.ResourceInterface
	object   *unstructured.Unstructured
}

// annotatedOf returns the ConfigMap or the Rule object of a rule, or the record of a rule in a file. namespace is
// Kanon's.
func (d Desk) annotatedOf(ctx context.Context, rule *installed.Rule, namespace string) (annotated, error) {
	if !rule.IsInFile() {
		resource, err := d.resourceOf(rule, "")
		return annotated{resource, rule.Object}, err
	}
	resource := d.Client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(namespace)
	object, err := resource.Get(ctx, record.NamePrefix+rule.ID, metav1.GetOptions{})
	if err != nil {
		return annotated{}, fmt.Errorf("read the record of rule %s, which is in the file %s: %w", rule.Name, rule.Origin.Path, err)
	}
	return annotated{resource, object}, nil
}

// resourceOf returns the client for the ConfigMap or the Rule object of a rule. For a rule in a file, it returns a
// FileError.
func (d Desk) resourceOf(rule *installed.Rule, do string) (dynamic.ResourceInterface, error) {
	switch o := rule.Origin; {
	case rule.IsInFile():
		return nil, &FileError{Rule: rule.Name, Path: o.Path, Do: do}
	case rule.Object == nil:
		return nil, fmt.Errorf("rule %s has no text any more: Kanon is removing it", rule.Name)
	case o.Rule.Name != "":
		return d.Client.Resource(source.RulesGVR()).Namespace(o.Rule.Namespace), nil
	default:
		return d.Client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(o.ConfigMap.Namespace), nil
	}
}

// FileError reports that a rule is in a file, which only Kanon reads.
type FileError struct {
	Rule types.NamespacedName
	Path string
	// Do is what to do in the file.
	Do string
}

func (e *FileError) Error() string {
	return fmt.Sprintf("rule %s is in the file %s, which Kanon reads: %s there", e.Rule, e.Path, e.Do)
}
