package apply

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestRuleIDIsStableAndDistinct(t *testing.T) {
	// A fixed value: an id that changed between versions would orphan every child.
	if got, want := RuleID("kanon-system", "team-a", "webapp"), "9a393d940ded9191"; got != want {
		t.Errorf("RuleID = %s, want %s", got, want)
	}
	seen := map[string]string{}
	for _, parts := range [][3]string{
		{"a", "b", "c"}, {"ab", "", "c"}, {"a", "bc", ""}, {"", "ab", "c"}, {"a", "b", "c" + strings.Repeat("x", 300)},
	} {
		id := RuleID(parts[0], parts[1], parts[2])
		if other, ok := seen[id]; ok || len(id) != 16 {
			t.Errorf("RuleID%q = %q, also of %q", parts, id, other)
		}
		seen[id] = strings.Join(parts[:], "|")
	}
}

func TestNodeLabel(t *testing.T) {
	for name, node := range map[string]string{
		"plain": "deployment", "long": strings.Repeat("n", 80), "dash at the end": "a-", "not a label": "Käse/2",
		"long with a dash at the cut": strings.Repeat("a", 31) + "-" + strings.Repeat("b", 60),
	} {
		t.Run(name, func(t *testing.T) {
			label := NodeLabel(node)
			if problems := validation.IsValidLabelValue(label); len(problems) > 0 {
				t.Errorf("NodeLabel(%q) = %q: %v", node, label, problems)
			}
			if valid := len(validation.IsValidLabelValue(node)) == 0; valid != (label == node) {
				t.Errorf("NodeLabel(%q) = %q", node, label)
			}
		})
	}
	if NodeLabel(strings.Repeat("n", 80)) == NodeLabel(strings.Repeat("n", 81)) {
		t.Error("two nodes have one label")
	}
}

const rendered = `
apiVersion: test/v1
kind: Thing
metadata: {name: child, namespace: ns}
`

func testOwner() Owner {
	return Owner{
		RuleID: RuleID("kanon-system", "kanon-system", "r"),
		Rule:   "kanon-system/r",
		Node:   "thing",
		Parent: Ref{Group: "shop", Kind: "App", Namespace: "ns", Name: "app", UID: "parent-uid"},
	}
}

func TestRefuse(t *testing.T) {
	owner := testOwner()
	c, err := offline(t).Prepare(t.Context(), object(t, rendered), owner, controllerOf(owner.Parent), Policy{})
	if err != nil {
		t.Fatal(err)
	}
	earlier := owner
	earlier.Parent.UID = "earlier-uid"
	old, err := offline(t).Prepare(t.Context(), object(t, rendered), earlier, controllerOf(earlier.Parent), Policy{})
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
			o.SetLabels(map[string]string{LabelRule: "0123456789abcdef"})
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
	controlled.SetOwnerReferences(references(Ref{Group: "apps", Kind: "ReplicaSet", Name: "rs", UID: "u"}))
	managed := object(t, rendered+"  \n")
	managed.Object["metadata"].(map[string]any)["managedFields"] = []any{
		map[string]any{"manager": "helm", "operation": "Update"},
		map[string]any{"manager": "helm", "operation": "Apply"},
		map[string]any{"manager": "kubectl", "operation": "Update"},
	}
	owner := testOwner()
	c, err := offline(t).Prepare(t.Context(), object(t, rendered), owner, controllerOf(owner.Parent), Policy{})
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
		"nobody":         {object(t, rendered), "nobody who is recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.ownedBy(tt.obj); got != tt.want {
				t.Errorf("ownedBy = %q, want %q", got, tt.want)
			}
		})
	}
}
