package livediff

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kanon.dev/kanon/author/live/livepreview"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/operator"
)

// statusChange returns what would change in the parent's status, apart from Kanon's own conditions. isLive is true if
// the cluster has the parent.
func (d *Differ) statusChange(ctx context.Context, p *livepreview.Preview, isLive bool) ([]Change, error) {
	parent, manager := p.Parent, operator.StatusManagers+d.previewer.RuleID()
	if p.Result.KeepStatus || len(p.Result.Status) == 0 && !manages(parent, manager) {
		return nil, nil
	}
	before := map[string]any{}
	if status, _ := parent.Object["status"].(map[string]any); status != nil {
		before["status"] = status
	}
	kinds, err := d.previewer.Kinds()
	if err != nil {
		return nil, err
	}
	applied, err := kinds.Applied(ctx, parent, manager, map[string]any{"status": p.Result.Status})
	if err != nil {
		return nil, err
	}
	after := map[string]any{}
	if status, _ := applied.Object["status"].(map[string]any); status != nil {
		after["status"] = status
	}
	change := Change{Action: Status, Object: parent}
	if isLive { // the API server knows which fields the rule no longer sets, and which do not fit
		answer, err := d.applyStatus(ctx, parent, manager, p.Result.Status)
		if err != nil {
			failed, err := d.failed(ctx, p, parent, &change, err)
			if err != nil {
				return nil, err
			}
			failed.Message = "its status: " + failed.Message
			return []Change{*failed}, nil
		}
		after = withConditions(answer, after)
	}
	if equality.Semantic.DeepEqual(before, after) {
		return nil, nil
	}
	change.before, change.after = bare(parent, before["status"]), bare(parent, after["status"])
	return []Change{change}, nil
}

// manages reports whether a field manager has applied something.
func manages(obj *unstructured.Unstructured, manager string) bool {
	return slices.ContainsFunc(fieldset.EntriesOf(obj), func(e fieldset.Entry) bool {
		return e.Manager == manager && e.Operation == fieldset.OperationApply
	})
}

// applyStatus returns the answer to a dry-run apply of a status.
func (d *Differ) applyStatus(ctx context.Context, parent *unstructured.Unstructured, manager string, status map[string]any) (*unstructured.Unstructured, error) {
	gvk := parent.GroupVersionKind()
	client, ok := d.options.Resource(gvk, parent.GetNamespace())
	if !ok {
		return nil, errReplaced
	}
	config := bare(parent, nil)
	if len(status) > 0 {
		config.Object["status"] = runtime.DeepCopyJSON(status)
	}
	var subresources []string
	if served, _ := d.options.Kinds.Lookup(gvk); served.HasStatus {
		subresources = []string{"status"}
	}
	answer, err := client.Apply(ctx, parent.GetName(), config, metav1.ApplyOptions{
		DryRun: []string{metav1.DryRunAll}, FieldManager: manager, Force: true,
	}, subresources...)
	if err != nil {
		return nil, &requestError{"patch", strings.Join(subresources, ""), err}
	}
	return answer, nil
}

// withConditions returns the status of an object with the conditions of another one. The rule does not render Kanon's
// own conditions, so an apply without them would remove them.
func withConditions(of *unstructured.Unstructured, from map[string]any) map[string]any {
	status, _ := of.Object["status"].(map[string]any)
	status = maps.Clone(status)
	others, _ := from["status"].(map[string]any)
	delete(status, "conditions")
	if conditions, ok := others["conditions"]; ok {
		if status == nil {
			status = map[string]any{}
		}
		status["conditions"] = conditions
	}
	if len(status) == 0 {
		return map[string]any{}
	}
	return map[string]any{"status": status}
}

// bare returns an object with nothing but a name and one field. The field is called status in the diff.
func bare(of *unstructured.Unstructured, status any) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{"apiVersion": of.GetAPIVersion(), "kind": of.GetKind()}}
	out.SetName(of.GetName())
	out.SetNamespace(of.GetNamespace())
	if status != nil {
		out.Object["status of "+strings.ToLower(of.GetKind())] = status
	}
	return out
}
