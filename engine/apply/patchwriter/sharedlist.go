package patchwriter

import (
	"cmp"
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/patchset"
	"kanon.dev/kanon/engine/apply/refusal"
	"kanon.dev/kanon/engine/apply/server"
)

// syncSharedList brings the shared list of the object up to date, and returns the resulting object.
func (w *Writer) syncSharedList(ctx context.Context, p Patch) (*unstructured.Unstructured, error) {
	plan := patchset.PlanSharedList(p.Object, p.Manager, p.sharedItems())
	if !plan.Changed {
		return p.Object, nil
	}
	ref := mark.RefOf(p.Object)
	field := patchset.SharedField(p.Object.GroupVersionKind().GroupKind())
	owner := ""
	for _, name := range patchset.OwnersOf(p.Object, fieldpath.MakePathOrDie(field)) {
		if name != patchset.RestoreManager {
			owner = name
		}
	}
	writer := patchset.RestoreManager
	if len(plan.Record.Items) > 0 {
		if _, there := patchset.SharedListOf(p.Object); !there {
			plan.Record.Owner = owner
		}
	} else { // no item is ours any more: the list belongs to its former owner
		writer = cmp.Or(owner, plan.Record.Owner, patchset.RestoreManager)
	}
	operations, err := plan.Operations(p.Object, field)
	if err != nil {
		return nil, fmt.Errorf("encode what is joined in %s: %w", ref, err)
	}
	answer, err := w.server.PatchSteps(ctx, p.GVR, ref, server.Strict(writer, false), operations)
	if err != nil {
		return nil, refusal.OfTarget("join "+field+" of", ref, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("joined a list", "target", ref.String(), "manager", p.Manager)
	return answer, nil
}

// sharedItems returns the names of the items that the patch wants in the shared list.
func (p Patch) sharedItems() []string {
	if p.Content == nil {
		return nil
	}
	return p.Content.Shared
}
