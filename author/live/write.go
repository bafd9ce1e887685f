package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/source"
)

// FieldManager is the field manager of this package's writes.
const FieldManager = "kanon-cli"

// Desk writes to the cluster for its user.
type Desk struct {
	Client dynamic.Interface
	// Namespace is Kanon's own.
	Namespace string
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

// retryConflicts calls change with an object. After a conflict, it reads the object and calls change again.
func retryConflicts(ctx context.Context, resource dynamic.ResourceInterface, object *unstructured.Unstructured, change func(*unstructured.Unstructured) (Change, error)) (made Change, err error) {
	name := object.GetName()
	err = retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
		if object == nil {
			if object, err = resource.Get(ctx, name, metav1.GetOptions{}); err != nil {
				return fmt.Errorf("read it again, because somebody else changed it: %w", err)
			}
		}
		made, err = change(object)
		object = nil
		return err
	})
	return made, err
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
	answer, err := resource.Patch(ctx, object.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: FieldManager})
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
	var found, keys []string
	for _, name := range path {
		keys = append(keys, "f:"+name)
	}
	for _, entry := range append(before.GetManagedFields(), after.GetManagedFields()...) {
		if entry.Operation != metav1.ManagedFieldsOperationApply || entry.Manager == FieldManager || entry.FieldsV1 == nil {
			continue
		}
		var fields map[string]any
		_ = json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) // without fields, the manager owns none
		warning := fmt.Sprintf("%s applies %s and may set it back: change it there, too", entry.Manager, strings.Join(path, "."))
		_, owns, _ := unstructured.NestedFieldNoCopy(fields, keys...)
		if owns && !slices.Contains(found, warning) {
			found = append(found, warning)
		}
	}
	return found
}

// nameOf names an object in messages.
func nameOf(object *unstructured.Unstructured) string {
	name := ShortName(object)
	if namespace := object.GetNamespace(); namespace != "" {
		return name + " in namespace " + namespace
	}
	return name
}

// originOf returns the ConfigMap or the Rule object of a rule, or the record of a rule in a file, with its client.
func (d Desk) originOf(ctx context.Context, rule *Rule) (dynamic.ResourceInterface, *unstructured.Unstructured, error) {
	configMaps := d.Client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps"))
	switch o := rule.Origin; {
	case rule.IsInFile():
		resource := configMaps.Namespace(d.Namespace)
		object, err := resource.Get(ctx, record.NamePrefix+rule.ID, metav1.GetOptions{})
		if err != nil {
			return nil, nil, fmt.Errorf("read the record of rule %s, which is in the file %s: %w", rule.Name, o.Path, err)
		}
		return resource, object, nil
	case rule.Object == nil:
		return nil, nil, fmt.Errorf("rule %s has no text any more: Kanon is removing it", rule.Name)
	case o.Rule.Name != "":
		return d.Client.Resource(source.RulesGVR()).Namespace(o.Rule.Namespace), rule.Object, nil
	default:
		return configMaps.Namespace(o.ConfigMap.Namespace), rule.Object, nil
	}
}

// Pause is the pause between two readings of something whose changes a user awaits.
const Pause = time.Second

// Until reads a rule again and again, for limit at most, until done is true for it. It returns the rule as it is then;
// is reports whether done is true.
func (d Desk) Until(ctx context.Context, name types.NamespacedName, limit time.Duration, done func(*Rule) (bool, error)) (rule *Rule, is bool, err error) {
	err = wait.PollUntilContextTimeout(ctx, Pause/4, limit, true, func(ctx context.Context) (bool, error) {
		rules, err := ListRules(ctx, d.Client, d.Namespace)
		if err != nil {
			return false, err
		}
		if rule, err = rules.Find(name.String()); err != nil {
			return false, err
		}
		is, err = done(rule)
		return is, err
	})
	if errors.Is(err, context.DeadlineExceeded) && rule != nil {
		err = nil
	}
	return rule, is, err
}
