package livediff

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/author/live/livepreview"
	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/rules"
)

const (
	kanon      = "kanon-system"
	parentText = `{apiVersion: v1, kind: ServiceAccount, metadata: {name: web, namespace: shop, uid: 0b5c3a52-0f47-4a5c-8d4e-000000000001}}`
	ruleText   = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: r}
spec:
  parent: {apiVersion: v1, kind: ServiceAccount, selector: {matchExpressions: [{key: not, operator: DoesNotExist}]}}
`
	oneChild = `
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {a: b}}`
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

// childOf is a ConfigMap of that name that a child of the rule has created for the parent, with a note of somebody else.
func childOf(node, name, note string) string {
	return `{apiVersion: v1, kind: ConfigMap, metadata: {name: ` + name + `, namespace: shop, uid: c1, labels: {kanon.dev/rule: ` + mark.RuleID(kanon, kanon, "r") +
		`}, annotations: {note: ` + note + `, kanon.dev/applied: 2.C1w6Ug9HSlyNTgAAAAAAAQ.hash.seal.value.paths.content.` + node + `}}, data: {a: old}}`
}

// child is the ConfigMap that oneChild renders, as it was before.
func child(note string) string { return childOf("config", "config", note) }

// differ compares a rule with a cluster that has the parent and these objects.
func differ(t *testing.T, spec string, objects ...string) (*Differ, *fake.FakeDynamicClient) {
	t.Helper()
	return differOf(t, ruleText+spec, objects...)
}

// differOf is differ for the whole text of a rule.
func differOf(t *testing.T, rule string, objects ...string) (*Differ, *fake.FakeDynamicClient) {
	t.Helper()
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	given := []runtime.Object{parse(t, parentText)}
	for _, text := range objects {
		given = append(given, parse(t, text))
	}
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "kanon.dev", Version: "v1alpha1", Kind: "Rule"}, &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "kanon.dev", Version: "v1alpha1", Kind: "RuleList"}, &unstructured.UnstructuredList{})
	client := fake.NewSimpleDynamicClient(scheme, given...)
	client.PrependReactor("create", "*", func(action clienttesting.Action) (bool, runtime.Object, error) { // the fake ignores dryRun
		object, _ := action.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured)
		if _, err := client.Tracker().Get(action.GetResource(), action.GetNamespace(), object.GetName()); err == nil {
			return true, nil, apierrors.NewAlreadyExists(action.GetResource().GroupResource(), object.GetName())
		}
		return true, object, nil
	})
	checked, err := manifests.Check(t.Context(), []manifests.File{{Name: "rule.yaml", Data: []byte(rule)}}, nil, kinds, rules.Options{Namespace: kanon})
	if err != nil || len(checked.Programs) != 1 {
		t.Fatal(err, checked.Findings)
	}
	return New(livepreview.Options{Client: client, Kinds: kinds, Program: checked.Programs[0], Namespace: kanon, Now: time.Now()}), client
}

var configMaps = schema.GroupResource{Resource: "configmaps"}

// A write that conflicts with one of somebody else is computed once more, from the object as it is then.
func TestConflict(t *testing.T) {
	t.Parallel()
	d, client := differ(t, oneChild, child("first"))
	writes := 0
	client.PrependReactor("update", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		if writes++; writes == 1 {
			if err := client.Tracker().Update(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, parse(t, child("second")), "shop"); err != nil {
				t.Error(err)
			}
			return true, nil, apierrors.NewConflict(configMaps, "config", errors.New("changed"))
		}
		after := parse(t, child("second"))
		after.Object["data"] = map[string]any{"a": "b"}
		return true, after, nil
	})
	changes, err := d.Diff(t.Context(), parse(t, parentText))
	if err != nil || len(changes.All) != 1 {
		t.Fatal(changes, err)
	}
	if diff := changes.All[0].Unified(); changes.All[0].Action != Updated || !strings.Contains(diff, "+  a: b") || strings.Contains(diff, "first") {
		t.Errorf("%s:\n%s", changes.All[0].Title(), diff)
	}
}

// What never comes to rest is an error, and no refusal.
func TestNoPeace(t *testing.T) {
	t.Parallel()
	d, c := differ(t, oneChild, child("theirs"))
	c.PrependReactor("update", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(configMaps, "config", errors.New("changed"))
	})
	const want = "others change it all the time"
	if changes, err := d.Diff(t.Context(), parse(t, parentText)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, %v", changes, err)
	}
}

// Forbidden is a refusal where who asks has the right, as by a quota, and an error where not.
func TestForbidden(t *testing.T) {
	t.Parallel()
	for name, allowed := range map[string]bool{"by admission": true, "by a missing right": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, client := differ(t, oneChild)
			client.PrependReactor("create", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(configMaps, "config", errors.New("exceeded quota"))
			})
			client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
				review := action.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured).DeepCopy()
				if verb, _, _ := unstructured.NestedString(review.Object, "spec", "resourceAttributes", "verb"); verb != "create" {
					t.Errorf("it is asked for the right to %s", verb)
				}
				return true, review, unstructured.SetNestedField(review.Object, allowed, "status", "allowed")
			})
			changes, err := d.Diff(t.Context(), parse(t, parentText))
			switch {
			case allowed && (err != nil || len(changes.All) != 1 || changes.All[0].Action != Refused || !strings.Contains(changes.All[0].Message, "exceeded quota")):
				t.Errorf("%v, %v", changes, err)
			case !allowed && (err == nil || !strings.Contains(err.Error(), `you have no right to create configmaps in namespace "shop"`)):
				t.Errorf("%v, %v", changes, err)
			}
		})
	}
}
