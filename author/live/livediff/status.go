package livediff

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/author/live/livepreview"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/rules/program"
)

// statusChange returns what would change in the parent's status, apart from the conditions that Kanon sets itself.
func (d *Differ) statusChange(p *livepreview.Preview) []Change {
	parent := p.Parent
	after := p.After(parent)
	if p.StatusRefused != nil {
		return []Change{{Action: Refused, Object: parent, Message: "its status: " + d.reason(p.StatusRefused)}}
	}
	if after == nil {
		return nil
	}
	before, now := ruled(d.options.Program, parent), ruled(d.options.Program, after)
	if equality.Semantic.DeepEqual(before, now) {
		return nil
	}
	return []Change{{Action: Status, Object: parent, before: bare(parent, before), after: bare(parent, now)}}
}

// ruled returns the status of a parent without the conditions that Kanon sets for a rule; nil if nothing is left.
func ruled(rule *program.Program, parent *unstructured.Unstructured) map[string]any {
	status, _ := parent.Object["status"].(map[string]any)
	status = maps.Clone(status)
	if list, ok := status["conditions"].([]any); ok {
		list = slices.DeleteFunc(slices.Clone(list), func(item any) bool {
			fields, _ := item.(map[string]any)
			kind, _ := fields["type"].(string)
			return conditions.IsKanons(rule.ConditionPrefix, kind) || slices.Contains(rule.ConditionTypes(), kind)
		})
		if status["conditions"] = list; len(list) == 0 {
			delete(status, "conditions")
		}
	}
	if len(status) == 0 {
		return nil
	}
	return status
}

// bare returns an object with nothing but a name and one field. The field is called status in the diff.
func bare(of *unstructured.Unstructured, status map[string]any) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{"apiVersion": of.GetAPIVersion(), "kind": of.GetKind()}}
	out.SetName(of.GetName())
	out.SetNamespace(of.GetNamespace())
	if status != nil {
		out.Object["status of "+strings.ToLower(of.GetKind())] = status
	}
	return out
}
