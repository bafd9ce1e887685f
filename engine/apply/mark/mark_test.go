package mark

import (
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/applytest"
	"kanon.dev/kanon/engine/keyring"
)

// testMarks seals by the same key in all tests, which is older than any object.
func testMarks() *Marks { return NewMarks(testRing) }

var testRing = sync.OnceValue(func() *keyring.Keyring {
	ring, err := keyring.Generate()
	if err != nil {
		panic(err)
	}
	return ring
})

func testOwner() Owner {
	return Owner{
		RuleID: RuleID("kanon-system", "kanon-system", "r"),
		Rule:   "kanon-system/r",
		Node:   "thing",
		Parent: Ref{Group: "shop", Kind: "App", Namespace: "ns", Name: "app", UID: "parent-uid"},
	}
}

// marked is an owner's child, with a change.
func marked(tb testing.TB, owner Owner, change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	tb.Helper()
	yes := true
	controller := &metav1.OwnerReference{
		APIVersion: owner.Parent.Group + "/v1", Kind: owner.Parent.Kind, Name: owner.Parent.Name, UID: owner.Parent.UID, Controller: &yes,
	}
	if owner.Tracked {
		controller = nil
	}
	obj := applytest.Object(tb, "{apiVersion: test/v1, kind: Thing, metadata: {name: child, namespace: ns}}")
	text := testMarks().Add(obj, owner, controller)
	text.Fingerprint = Fingerprint{Value: "value", Paths: "paths"}
	EnsureMap(EnsureMap(obj.Object, "metadata"), "annotations")[AnnotationApplied] = text.String()
	change(obj)
	return obj
}

func TestOwns(t *testing.T) {
	tied, tracked := testOwner(), testOwner()
	tracked.Tracked = true
	const other = "0123456789abcdef"
	none := func(*unstructured.Unstructured) {}
	annotate := func(key, value string) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) {
			annotations := obj.GetAnnotations()
			annotations[key] = value
			obj.SetAnnotations(annotations)
		}
	}
	edit := func(old, now string) func(*unstructured.Unstructured) {
		return func(obj *unstructured.Unstructured) {
			text := obj.GetAnnotations()[AnnotationApplied]
			if !strings.Contains(text, old) {
				t.Fatalf("the mark %s has no %q", text, old)
			}
			annotate(AnnotationApplied, strings.Replace(text, old, now, 1))(obj)
		}
	}
	tests := map[string]struct {
		reason string
		owner  Owner
		change func(*unstructured.Unstructured)
		ruleID string
		uid    types.UID
		want   bool
	}{
		"as written":           {"a sealed mark", tied, none, tied.RuleID, "parent-uid", true},
		"tracked":              {"a sealed mark", tracked, none, tied.RuleID, "parent-uid", true},
		"without a reference":  {"the mark says whose it was", tied, func(obj *unstructured.Unstructured) { obj.SetOwnerReferences(nil) }, tied.RuleID, "parent-uid", true},
		"unmarked":             {"who refers to a parent may be anybody's", tied, func(obj *unstructured.Unstructured) { obj.SetAnnotations(nil) }, tied.RuleID, "parent-uid", false},
		"unlabelled":           {"the seal is of the label too", tied, func(obj *unstructured.Unstructured) { obj.SetLabels(nil) }, tied.RuleID, "parent-uid", false},
		"another parent":       {"the mark names one parent", tied, none, tied.RuleID, "other-uid", false},
		"another rule":         {"two rules of one parent have two children", tied, none, other, "parent-uid", false},
		"another rule's label": {"the seal is of the label too", tied, func(obj *unstructured.Unstructured) { obj.SetLabels(map[string]string{LabelRule: other}) }, other, "parent-uid", false},
		"no parent uid":        {"nothing to prove", tied, none, tied.RuleID, "", false},
		"copied to another name": {
			"the seal names the original", tied, func(obj *unstructured.Unstructured) { obj.SetName("copy") },
			tied.RuleID, "parent-uid", false,
		},
		"copied to another namespace": {
			"the seal names the original", tracked, func(obj *unstructured.Unstructured) { obj.SetNamespace("copy") },
			tied.RuleID, "parent-uid", false,
		},
		"copied to another kind":     {"the seal names the original", tied, func(obj *unstructured.Unstructured) { obj.SetKind("Other") }, tied.RuleID, "parent-uid", false},
		"seen under another version": {"one object under two apiVersions is one child", tied, func(obj *unstructured.Unstructured) { obj.SetAPIVersion("test/v2") }, tied.RuleID, "parent-uid", true},
		"given another parent": {
			"the seal names the parent", tracked, edit("."+packUID("parent-uid")+".", "."+packUID("other-uid")+"."),
			tied.RuleID, "other-uid", false,
		},
		"given another owner":         {"the seal is of the annotation too", tracked, annotate(AnnotationOwner, "App.shop ns/other"), tied.RuleID, "parent-uid", false},
		"given another node":          {"the seal names the node", tied, edit(".thing", ".other"), tied.RuleID, "parent-uid", false},
		"said to stay":                {"the seal is of the flags too", tied, edit("2.", "2a."), tied.RuleID, "parent-uid", false},
		"the mark is no text of ours": {"no proof, no panic", tied, annotate(AnnotationApplied, "2..."), tied.RuleID, "parent-uid", false},
		"a mark without a seal":       {"no proof, no panic", tied, annotate(AnnotationApplied, "2.AAAA.b.c.d.e.f.g"), tied.RuleID, "parent-uid", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := testMarks().Owns(marked(t, tt.owner, tt.change), tt.ruleID, tt.uid); got != tt.want {
				t.Errorf("Owns = %t, want %t: %s", got, tt.want, tt.reason)
			}
		})
	}
}

func TestNodeOf(t *testing.T) {
	t.Parallel()
	owner := testOwner()
	none := func(*unstructured.Unstructured) {}
	for want, of := range map[string][]*unstructured.Unstructured{
		owner.Node: {marked(t, owner, none)},
		"":         {marked(t, owner, Remove), applytest.Object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}")},
	} {
		for _, obj := range of {
			if got := NodeOf(obj); got != want {
				t.Errorf("node %q, want %q: %v", got, want, obj.Object["metadata"])
			}
		}
	}
}

// What a mark says is what was put into it, whatever that is.
func TestMarkIsReadAsWritten(t *testing.T) {
	uids := []types.UID{"", "parent-uid", "0b5c4f6e-8a0d-4e9b-9c55-3f1f7f3a2b10", "0B5C4F6E-8A0D-4E9B-9C55-3F1F7F3A2B10", "a.b", "~"}
	for _, uid := range uids {
		for _, parent := range []Ref{
			{Group: "shop", Kind: "App", Namespace: "ns", Name: "app"}, {Kind: "Node", Name: "n"}, {Group: "a.b.c", Kind: "K", Name: "system:x"},
		} {
			for _, retain := range []Retain{RetainNever, RetainWhenPruned, RetainWhenDeleted, RetainAlways} {
				for _, tracked := range []bool{false, true} {
					if !tracked && parent.Namespace != "ns" && parent.Namespace != "" {
						continue
					}
					want := Owner{RuleID: "9a393d940ded9191", Node: "a.b", Parent: parent, Tracked: tracked, Retain: retain}
					want.Parent.UID = uid
					got, ok := testMarks().OwnerOf(marked(t, want, func(*unstructured.Unstructured) {}))
					if !got.IsFor(parent) || got.LostParent() != "" {
						t.Errorf("%v is not for its parent", got)
					}
					if got.parent = ""; !ok || got != want {
						t.Errorf("read as %+v, %t; want %+v", got, ok, want)
					}
				}
			}
		}
	}
}

// A child that lost its reference tells its parent's name no more, and whether it was a given one's still.
func TestLostReference(t *testing.T) {
	owner := testOwner()
	got, ok := testMarks().OwnerOf(marked(t, owner, func(obj *unstructured.Unstructured) { obj.SetOwnerReferences(nil) }))
	if !ok || got.Parent != (Ref{UID: owner.Parent.UID}) || got.LostParent() != LostParentHash(owner.Parent) || !got.IsFor(owner.Parent) {
		t.Errorf("read as %+v, %t", got, ok)
	}
	other := owner.Parent
	other.Namespace = "other"
	if got.IsFor(other) {
		t.Error("it counts as one of a parent in another namespace")
	}
}

func FuzzMark(f *testing.F) {
	for _, text := range []string{
		"2.AAAA.b.c.d.e.f.g", "2tca.~.x.y.....", "1.a.b", "2", "", "2........", marked(f, testOwner(), func(*unstructured.Unstructured) {}).GetAnnotations()[AnnotationApplied] + "x",
	} {
		f.Add(text)
	}
	ring := testRing()
	f.Fuzz(func(t *testing.T, text string) {
		m, ok := ParseMark(text)
		if !ok {
			return
		}
		again, ok := ParseMark(m.String())
		if !ok || again != m {
			t.Errorf("%q is read as %+v, and that as %+v, %t", text, m, again, ok)
		}
		obj := applytest.Object(t, "{apiVersion: test/v1, kind: Thing, metadata: {name: child, namespace: ns}}")
		obj.SetAnnotations(map[string]string{AnnotationApplied: text, AnnotationOwner: text})
		obj.SetLabels(map[string]string{LabelRule: "9a393d940ded9191"})
		if _, verdict := NewMarks(func() *keyring.Keyring { return ring }).check(obj); verdict.Proves() {
			t.Errorf("%q proves something", text)
		}
	})
}
