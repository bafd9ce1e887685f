package apply

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

const rendered = `
apiVersion: test/v1
kind: Thing
metadata: {name: child, namespace: ns}
`

func testOwner() mark.Owner {
	return mark.Owner{
		RuleID: mark.RuleID("kanon-system", "kanon-system", "r"),
		Rule:   "kanon-system/r",
		Node:   "thing",
		Parent: mark.Ref{Group: "shop", Kind: "App", Namespace: "ns", Name: "app", UID: "parent-uid"},
	}
}

func TestRefuse(t *testing.T) {
	owner := testOwner()
	c, err := offline(t).Prepare(t.Context(), wanted(object(t, rendered), owner, controllerOf(owner.Parent), fieldset.Policy{}))
	if err != nil {
		t.Fatal(err)
	}
	earlier := owner
	earlier.Parent.UID = "earlier-uid"
	old, err := offline(t).Prepare(t.Context(), wanted(object(t, rendered), earlier, controllerOf(earlier.Parent), fieldset.Policy{}))
	if err != nil {
		t.Fatal(err)
	}
	stranger := object(t, rendered)
	tests := map[string]struct {
		live *unstructured.Unstructured
		want string
	}{
		"ours":                             {c.Object, ""},
		"an earlier parent's":              {old.Object, "terminating"},
		"an earlier parent's, unannotated": {with(old.Object, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }), "terminating"},
		"ours, unannotated":                {with(c.Object, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }), ""},
		"ours, unlabelled and unannotated": {with(c.Object, func(o *unstructured.Unstructured) { o.SetAnnotations(nil); o.SetLabels(nil) }), ""},
		"our controller, another rule's label": {with(c.Object, func(o *unstructured.Unstructured) {
			o.SetAnnotations(nil)
			o.SetLabels(map[string]string{mark.LabelRule: "0123456789abcdef"})
		}), "taken"},
		"ours, being deleted":        {with(c.Object, terminating), "terminating"},
		"a stranger, being deleted":  {with(stranger, terminating), "terminating"},
		"a stranger":                 {stranger, "taken"},
		"a stranger with our labels": {with(stranger, func(o *unstructured.Unstructured) { o.SetLabels(c.Object.GetLabels()) }), "taken"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := class(c.refuse(tt.live)); got != tt.want {
				t.Errorf("refuse = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOwnedByTellsWhose(t *testing.T) {
	controlled := object(t, rendered)
	controlled.SetOwnerReferences(references(mark.Ref{Group: "apps", Kind: "ReplicaSet", Name: "rs", UID: "u"}))
	managed := object(t, rendered+"  \n")
	managed.Object["metadata"].(map[string]any)["managedFields"] = []any{
		map[string]any{"manager": "helm", "operation": "Update"},
		map[string]any{"manager": "helm", "operation": "Apply"},
		map[string]any{"manager": "kubectl", "operation": "Update"},
	}
	owner := testOwner()
	c, err := offline(t).Prepare(t.Context(), wanted(object(t, rendered), owner, controllerOf(owner.Parent), fieldset.Policy{}))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		obj  *unstructured.Unstructured
		want string
	}{
		"another rule":   {c.Object, "rule named-" + c.Owner.RuleID + " for App.shop ns/app"},
		"a controller":   {controlled, "ReplicaSet rs, its controller"},
		"field managers": {managed, "others (field managers: helm, kubectl)"},
		"nobody":         {object(t, rendered), "nobody, as it has neither a controller nor a mark"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.ownedBy(tt.obj); got != tt.want {
				t.Errorf("ownedBy = %q, want %q", got, tt.want)
			}
		})
	}
}
