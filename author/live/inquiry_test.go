package live_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

const kanon = "kanon-system"

const rule = `apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: r}
spec:
  parent: {apiVersion: v1, kind: ServiceAccount, selector: {matchLabels: {app: web}}}
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.name}"}, data: {a: one}}
  patches:
  - id: tag
    target: {apiVersion: v1, kind: ConfigMap, name: shared}
    template: {metadata: {labels: {"${parent.metadata.name}": "yes"}}}
`

const cluster = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: web, namespace: shop, uid: 0b5c3a52-0f47-4a5c-8d4e-000000000001, labels: {app: web}}
status: {conditions: [{type: Stalled, status: "True", reason: FieldConflict, message: somebody takes data.a}]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: api, namespace: shop, uid: 0b5c3a52-0f47-4a5c-8d4e-000000000002, labels: {app: web}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: other, namespace: shop, uid: 0b5c3a52-0f47-4a5c-8d4e-000000000003}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: far, namespace: far, uid: 0b5c3a52-0f47-4a5c-8d4e-000000000004, labels: {app: web}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  namespace: shop
  uid: c1
  labels: {kanon.dev/rule: RULE}
  annotations: {kanon.dev/applied: 2.C1w6Ug9HSlyNTgAAAAAAAQ.hash.seal.value.paths.content.config}
  ownerReferences: [{apiVersion: v1, kind: ServiceAccount, name: web, uid: 0b5c3a52-0f47-4a5c-8d4e-000000000001, controller: true}]
  managedFields: [{manager: kanon, operation: Apply, fieldsV1: {"f:data": {"f:a": {}}}}]
data: {a: two}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: copy
  namespace: shop
  uid: c2
  labels: {kanon.dev/rule: RULE}
  annotations: {kanon.dev/applied: 2t.C1w6Ug9HSlyNTgAAAAAAAQ.hash.seal.value.paths.content.config, kanon.dev/owner: ServiceAccount shop/web}
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d1, controller: true}]
  managedFields: [{manager: kube-controller-manager, operation: Update, fieldsV1: {"f:data": {"f:a": {}}}}]
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: orphan
  namespace: shop
  uid: c6
  labels: {kanon.dev/rule: RULE}
  annotations: {kanon.dev/applied: 2t.C1w6Ug9HSlyNTgAAAAAACQ.hash.seal.value.paths.content.config, kanon.dev/owner: ServiceAccount shop/old}
  managedFields: [{manager: kanon, operation: Apply, fieldsV1: {"f:data": {"f:a": {}}}}]
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: strange
  namespace: shop
  uid: c3
  labels: {kanon.dev/rule: 0123456789abcdef}
  annotations: {kanon.dev/applied: 2.C1w6Ug9HSlyNTgAAAAAAAQ.hash.seal.value.paths.content.config}
  managedFields: [{manager: kanon, operation: Apply, fieldsV1: {"f:data": {"f:a": {}}}}]
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: shared
  namespace: shop
  uid: c4
  labels: {web: "yes", api: "yes"}
  managedFields: [{manager: kanon-patch-RULE-tag, operation: Apply, fieldsV1: {"f:metadata": {"f:labels": {"f:web": {}, "f:api": {}}}}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: free, namespace: shop, uid: c5}
`

// inquirer knows a cluster, and the rules that add gives it.
func inquirer(t *testing.T, add func(set *live.Rules, checked *manifests.Checked)) (*live.Inquirer, map[string]*unstructured.Unstructured) {
	t.Helper()
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	checked, err := manifests.Check(t.Context(), []manifests.File{{Name: "rule.yaml", Data: []byte(rule)}}, nil, kinds, rules.Options{Namespace: kanon})
	if err != nil || checked.Findings.HasErrors() {
		t.Fatal(err, checked.Findings)
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(cluster, "RULE", mark.RuleID(kanon, kanon, "r"))
	objects, err := manifests.Objects([]manifests.File{{Name: "cluster.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*unstructured.Unstructured{}
	given := make([]runtime.Object, len(objects))
	for i, object := range objects {
		given[i], byName[object.GetKind()+" "+object.GetName()] = object, object
	}
	client := fake.NewSimpleDynamicClient(scheme, given...)
	set := &live.Rules{Namespace: kanon}
	add(set, checked)
	return &live.Inquirer{
		Reader: &live.Reader{Client: client, Kinds: kinds}, Compiler: &live.Compiler{Kinds: kinds, Namespace: kanon}, Rules: set, Now: time.Now(),
	}, byName
}

func fromFile(set *live.Rules, checked *manifests.Checked) { set.Add(checked) }

// inFile is the rule as an installed one of which only Kanon has the text.
func inFile(set *live.Rules, _ *manifests.Checked) {
	name := types.NamespacedName{Namespace: kanon, Name: "r"}
	set.All = []*live.Rule{{Name: name, ID: mark.RuleID(kanon, kanon, "r"), Origin: source.Origin{Path: "/rules/r.yaml"}}}
}

// broken is the rule as an installed one with a mistake.
func broken(set *live.Rules, _ *manifests.Checked) {
	docs, _ := syntax.Decode("configmap/r", []byte(strings.Replace(rule, "a: one", "a: \"${nobody}\"", 1)))
	name := types.NamespacedName{Namespace: kanon, Name: "r"}
	set.All = []*live.Rule{{Name: name, ID: mark.RuleID(kanon, kanon, "r"), Decoded: docs.Rules[0]}}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		add    func(*live.Rules, *manifests.Checked)
		object string
		want   []string
	}{
		"a child, by its mark": {fromFile, "ConfigMap web", []string{
			"kanon-system/r, child config, for web",
			"# ServiceAccount web is stalled: FieldConflict: somebody takes data.a",
		}},
		"a copy of a mark is no child": {fromFile, "ConfigMap copy", []string{"# no rule writes to it; its controller is Deployment web"}},
		"a patch, for the parents in its namespace that the rule selects": {fromFile, "ConfigMap shared", []string{
			"kanon-system/r, patch tag, for api", "kanon-system/r, patch tag, for web",
			"# ServiceAccount web is stalled: FieldConflict: somebody takes data.a",
		}},
		"a child of a parent that is gone":                                   {fromFile, "ConfigMap orphan", []string{"# it is the child config of rule kanon-system/r for ServiceAccount shop/old, which is gone"}},
		"a parent of which nothing is written":                               {fromFile, "ServiceAccount web", []string{"# it is a parent of rule kanon-system/r, which writes nothing to it"}},
		"a parent that the rule does not select":                             {fromFile, "ServiceAccount other", nil},
		"an object that no rule knows":                                       {fromFile, "ConfigMap free", nil},
		"a child of a rule that is not installed":                            {fromFile, "ConfigMap strange", []string{"# it is the child config of rule 0123456789abcdef, which is not installed: give its file with -f, and Kanon's namespace with --kanon-namespace"}},
		"a rule that only Kanon reads":                                       {inFile, "ConfigMap web", []string{"# rule kanon-system/r writes to it and is in the file /rules/r.yaml, which only Kanon reads: give it with -f"}},
		"a rule that only Kanon reads, and an object that has nothing of it": {inFile, "ConfigMap free", nil},
		"a file in its place": {func(set *live.Rules, checked *manifests.Checked) { inFile(set, checked); fromFile(set, checked) }, "ConfigMap web", []string{
			"kanon-system/r, child config, for web",
			"# ServiceAccount web is stalled: FieldConflict: somebody takes data.a",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, objects := inquirer(t, test.add)
			e, err := q.Explain(t.Context(), objects[test.object])
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range e.Writings {
				got = append(got, fmt.Sprintf("%s, %s, for %s", w.Rule, w.Part, w.Parent.Name))
			}
			for _, note := range e.Notes {
				got = append(got, "# "+note)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A rule with mistakes explains nothing, and says so.
func TestBrokenRule(t *testing.T) {
	t.Parallel()
	q, objects := inquirer(t, broken)
	e, err := q.Explain(t.Context(), objects["ConfigMap web"])
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Writings) != 0 || len(e.Notes) == 0 || !strings.Contains(e.Notes[0], `rule kanon-system/r has mistakes, and Kanon may run an earlier revision of it`) ||
		!strings.Contains(e.Notes[0], `unknown name "nobody"`) {
		t.Errorf("%v, %q", e.Writings, e.Notes)
	}
}
