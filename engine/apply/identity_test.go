package apply

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
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

func TestOwns(t *testing.T) {
	owner := testOwner()
	child := func(t *testing.T, change func(obj *unstructured.Unstructured)) *unstructured.Unstructured {
		t.Helper()
		c, err := offline(t).Prepare(t.Context(), object(t, rendered), owner, controllerOf(owner.Parent), Policy{})
		if err != nil {
			t.Fatal(err)
		}
		obj := c.Object.DeepCopy()
		change(obj)
		return obj
	}
	dropAnnotations := func(obj *unstructured.Unstructured) { obj.SetAnnotations(nil) }
	dropController := func(obj *unstructured.Unstructured) { obj.SetOwnerReferences(nil) }
	tests := map[string]struct {
		reason string
		change func(*unstructured.Unstructured)
		ruleID string
		uid    types.UID
		want   bool
	}{
		"as written":                {"both proofs", func(*unstructured.Unstructured) {}, owner.RuleID, "parent-uid", true},
		"annotation alone":          {"a child without ownerReference", dropController, owner.RuleID, "parent-uid", true},
		"controller alone":          {"someone removed the annotations", dropAnnotations, owner.RuleID, "parent-uid", true},
		"labels alone":              {"labels are copied by others", func(obj *unstructured.Unstructured) { dropAnnotations(obj); dropController(obj) }, owner.RuleID, "parent-uid", false},
		"another parent":            {"both name one parent", func(*unstructured.Unstructured) {}, owner.RuleID, "other-uid", false},
		"another rule":              {"two rules of one parent have two children", func(*unstructured.Unstructured) {}, "0123456789abcdef", "parent-uid", false},
		"another rule by its label": {"the label contradicts the controller", dropAnnotations, "0123456789abcdef", "parent-uid", false},
		"no parent uid":             {"nothing to prove", func(*unstructured.Unstructured) {}, owner.RuleID, "", false},
		"copied to another name": {"the annotation names the original", func(obj *unstructured.Unstructured) {
			dropController(obj)
			obj.SetName("copy")
		}, owner.RuleID, "parent-uid", false},
		"copied to another kind": {"the annotation names the original", func(obj *unstructured.Unstructured) {
			dropController(obj)
			obj.SetKind("Other")
		}, owner.RuleID, "parent-uid", false},
		"seen under another version": {"one object under two apiVersions is one child", func(obj *unstructured.Unstructured) {
			dropController(obj)
			obj.SetAPIVersion("test/v2")
		}, owner.RuleID, "parent-uid", true},
		"annotation is not JSON": {"no proof, no panic", func(obj *unstructured.Unstructured) {
			dropController(obj)
			obj.SetAnnotations(map[string]string{AnnotationOwner: "{"})
		}, owner.RuleID, "parent-uid", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Owns(child(t, tt.change), tt.ruleID, tt.uid); got != tt.want {
				t.Errorf("Owns = %t, want %t: %s", got, tt.want, tt.reason)
			}
		})
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
		"ours, being deleted":              {with(c.Object, terminating), "terminating"},
		"a stranger, being deleted":        {with(stranger, terminating), "terminating"},
		"a stranger":                       {stranger, "taken"},
		"a stranger with our labels":       {with(stranger, func(o *unstructured.Unstructured) { o.SetLabels(c.Object.GetLabels()) }), "taken"},
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
	c, err := offline(t).Prepare(t.Context(), object(t, rendered), testOwner(), nil, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		obj  *unstructured.Unstructured
		want string
	}{
		"another rule":   {c.Object, "rule kanon-system/r for App.shop ns/app"},
		"a controller":   {controlled, "ReplicaSet rs, its controller"},
		"field managers": {managed, "others (field managers: helm, kubectl)"},
		"nobody":         {object(t, rendered), "nobody who is recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ownedBy(tt.obj); got != tt.want {
				t.Errorf("ownedBy = %q, want %q", got, tt.want)
			}
		})
	}
}
