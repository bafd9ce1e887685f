package livediff

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/author/live/livepreview"
	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/author/redact"
	"kanon.dev/kanon/engine/identity"
)

// Action is what would happen to an object.
type Action string

// The actions.
const (
	Created   Action = "create"
	Updated   Action = "change"
	Recreated Action = "recreate"
	Deleted   Action = "delete"
	Orphaned  Action = "orphan"
	Patched   Action = "patch"
	// Restored is for fields that a patch no longer sets.
	Restored Action = "restore"
	Status   Action = "status"
	// Refused is for an object that the API server or Kanon would refuse to write.
	Refused Action = "refuse"
	// Kept is for an object that would be deleted, and is not because another one is refused.
	Kept Action = "keep"
)

// Change is what would happen to one object.
type Change struct {
	Action Action
	Object *unstructured.Unstructured
	// Message gives the reason, if the diff does not show it.
	Message string
	// before and after are the object's states; nil if it does not exist.
	before, after *unstructured.Unstructured
	// secrets are values to hide.
	secrets redact.Values
	// lost returns before without the values that the change removes or replaces; nil if none of them can be from a
	// Secret.
	lost func(before, after map[string]any) map[string]any
	// passes is true if the refusal is temporary: an object with the name of the child is being deleted.
	passes bool
	// recreates is true if the object would be recreated where the change is refused.
	recreates bool
}

// Title is the change in a few words: "change Deployment.apps shop/web".
func (c Change) Title() string {
	title := fmt.Sprintf("%s %s", c.Action, identity.Of(c.Object))
	if c.Message != "" {
		title += ": " + c.secrets.Text(c.Message)
	}
	return title
}

// Unified is the change as a unified diff; empty if nothing is written. Values of Secrets are hidden.
func (c Change) Unified() string {
	if c.Action == Refused || c.Action == Orphaned || c.Action == Kept {
		return ""
	}
	name := strings.ReplaceAll(identity.Of(c.Object).String(), " ", "/")
	before, after := c.shown()
	return manifests.UnifiedDiff("live/"+name, before, "rule/"+name, after)
}

// patches returns what the parent's patches would change.
func (d *Differ) patches(ctx context.Context, p *livepreview.Preview) ([]Change, error) {
	var all []Change
	for _, patch := range p.Result.Patches {
		for _, c := range patch.Contributions {
			targets, err := p.Targets(ctx, patch.ID, c)
			if err != nil {
				return nil, err
			}
			for _, t := range targets {
				if t.Err != nil {
					return nil, t.Err
				}
				if t.Differs() {
					all = append(all, Change{Action: Patched, Object: t.Unstructured, Message: "patch " + patch.ID, before: t.Before, after: t.After})
				}
			}
		}
	}
	return all, nil
}
