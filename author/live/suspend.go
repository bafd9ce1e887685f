package live

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/conditions"
)

// SuspendParent suspends or resumes a parent.
func SuspendParent(ctx context.Context, resource dynamic.ResourceInterface, parent *unstructured.Unstructured, suspend bool) (change Change, err error) {
	change = Change{Where: nameOf(parent), Done: conditions.IsSuspended(parent) != suspend}
	if !change.Done {
		return change, nil
	}
	value := ""
	if suspend {
		value = "true"
	}
	change.Warnings, err = annotate(ctx, resource, parent, conditions.AnnotationSuspend, value)
	return change, err
}

// SuspendRule sets spec.suspend of a rule, in its Rule object or in the text in its ConfigMap. For a rule in a file, it
// annotates the rule's record. If the file itself suspends the rule, only an edit of the file can resume it.
func (d Desk) SuspendRule(ctx context.Context, rule *Rule, suspend bool) (Change, error) {
	resource, object, err := d.originOf(ctx, rule)
	if err != nil {
		return Change{}, err
	}
	if !rule.IsInFile() {
		return retryConflicts(ctx, resource, object, func(object *unstructured.Unstructured) (Change, error) {
			if rule.Origin.Rule.Name != "" {
				return suspendObject(ctx, resource, object, suspend)
			}
			return d.suspendText(ctx, resource, object, rule, suspend)
		})
	}
	change, err := SuspendParent(ctx, resource, object, suspend)
	if err != nil || suspend || !rule.IsSuspendedInFile() {
		return change, err
	}
	err = fmt.Errorf("rule %s is in the file %s, which Kanon reads: set spec.suspend to false there", rule.Name, rule.Origin.Path)
	if change.Done {
		err = fmt.Errorf("the annotation %s is removed from %s, but the file suspends the rule, too: %w", conditions.AnnotationSuspend, change.Where, err)
	}
	return change, err
}

// suspendObject changes a Rule object. Resuming removes spec.suspend, so that the object is as before.
func suspendObject(ctx context.Context, resource dynamic.ResourceInterface, object *unstructured.Unstructured, suspend bool) (change Change, err error) {
	is, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend")
	change = Change{Where: nameOf(object), Done: is != suspend}
	if !change.Done {
		return change, nil
	}
	var value any
	if suspend {
		value = true
	}
	change.Warnings, err = patch(ctx, resource, object, map[string]any{"spec": map[string]any{"suspend": value}}, "spec", "suspend")
	return change, err
}

// suspendText changes the text in a ConfigMap, unless it changed since it was read.
func (d Desk) suspendText(ctx context.Context, resource dynamic.ResourceInterface, object *unstructured.Unstructured, rule *Rule, suspend bool) (Change, error) {
	key := rule.Text.Name[strings.LastIndex(rule.Text.Name, "/")+1:]
	change := Change{Where: nameOf(object) + ", key " + strconv.Quote(key)}
	text, found, err := unstructured.NestedString(object.Object, "data", key)
	if err != nil || !found {
		return change, fmt.Errorf("%s has no key %s any more", nameOf(object), key)
	}
	changed, err := SetSuspend([]byte(text), rule.Name, d.Namespace, suspend)
	if err != nil {
		return change, fmt.Errorf("%s: %w", change.Where, err)
	}
	if change.Done = string(changed) != text; !change.Done {
		return change, nil
	}
	change.Warnings, err = patch(ctx, resource, object, map[string]any{
		"metadata": map[string]any{"resourceVersion": object.GetResourceVersion()},
		"data":     map[string]any{key: string(changed)},
	}, "data", key)
	return change, err
}
