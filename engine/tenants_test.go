package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/internal/controlplanetest"
)

// A tenant in these tests may write all objects in one namespace, ConfigMaps with rules among them, and has no rights elsewhere.

// tenant is a namespace whose rules Kanon runs.
type tenant struct {
	*world
	// user is the ServiceAccount of its rules.
	user string
}

// newTenant makes a world in which Kanon, which has all rights, runs the rules of home as well, and gives their ServiceAccount all
// rights there.
func newTenant(t *testing.T, tweaks ...func(*engine.Options)) *tenant {
	t.Helper()
	w := newWorld(t, "Note")
	v := &tenant{world: w, user: "system:serviceaccount:" + w.home + ":kanon-tenant"}
	w.allow(w.home, "tenant", v.user, `[{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]`)
	w.run(append(tweaks, func(o *engine.Options) { o.Sources = append(o.Sources, source.NewConfigMaps(o.Client, w.home)) })...)
	return v
}

// tenantRule writes a rule of the tenant.
func (v *tenant) tenantRule(name, text string) {
	v.t.Helper()
	v.create(configMaps, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "namespace": v.home, "labels": map[string]any{source.LabelRules: "true"}},
		"data":     map[string]any{"rule.yaml": v.expand(text)},
	}})
}

// reports waits until the report on a rule of the tenant has a text.
func (v *tenant) reports(name, text string) {
	v.t.Helper()
	v.await(configMaps, v.home, name, fmt.Sprintf("has a report with %q", text), func(obj *unstructured.Unstructured) bool {
		return strings.Contains(obj.GetAnnotations()[source.AnnotationStatus], text)
	})
}

const tenantNote = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: note}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: text
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}"}
      data: {text: mine}
`

// A tenant's rule works in its namespace, with the rights of its ServiceAccount, and does not see the parents of others.
func TestTenantRule(t *testing.T) {
	t.Parallel()
	v := newTenant(t)
	v.tenantRule("note", tenantNote)
	v.reports("note", `"ready":true`)
	elsewhere := controlplanetest.Namespace(t, v.config)
	other := v.object("{apiVersion: $GROUP/v1, kind: Note, metadata: {name: one, namespace: " + elsewhere + "}}")
	v.create(v.resource("Note"), other)
	v.parent("Note", "one", "{}")
	v.await(configMaps, v.home, "one", "is made", has("mine", "data", "text"))
	v.await(v.resource("Note"), v.home, "one", "is ready", isTrue("Ready"))
	v.quiet()
	if n := v.get(v.resource("Note"), elsewhere, "one"); field(n, "status") != nil {
		t.Errorf("a parent elsewhere has a status: %v", field(n, "status"))
	}
	if senders := v.senders("POST PUT PATCH DELETE", configMaps, v.home); senders[v.user] == 0 {
		t.Errorf("the child was written by %v, want %s", senders, v.user)
	}

	// What the tenant removes, goes as it came: with the tenant's rights.
	v.delete(v.resource("Note"), v.home, "one")
	v.awaitGone(v.resource("Note"), v.home, "one")
}

// What reaches beyond the namespace by what the text says is refused with the rule.
func TestTenantRuleThatSaysTooMuch(t *testing.T) {
	t.Parallel()
	v := newTenant(t)
	child := func(text string) string {
		return tenantNote[:strings.Index(tenantNote, "  children:")] + "  children:\n  - {id: a, template: " + text + "}\n"
	}
	spec := func(text string) string { return strings.Replace(tenantNote, "spec:\n", "spec:\n  "+text+"\n", 1) }
	for name, test := range map[string]struct{ rule, want string }{
		"namespace":     {strings.Replace(tenantNote, "name: note", "name: note, namespace: $KANON", 1), "KN0602"},
		"child":         {child("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: $KANON}}"), "KN0902"},
		"cluster":       {child("{apiVersion: v1, kind: Namespace, metadata: {name: a}}"), "KN0902"},
		"binding":       {child("{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}}"), "KN0901"},
		"privileged":    {spec("allowPrivileged: true"), "KN0903"},
		"lookup":        {spec("lookups: [{id: a, apiVersion: v1, kind: Secret, name: a, namespace: $KANON}]"), "KN0902"},
		"lookups":       {spec("lookups: [{id: a, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {a: b}}, namespace: '*'}]"), "KN0902"},
		"nodes":         {spec("lookups: [{id: a, apiVersion: v1, kind: Node, name: a}]"), "KN0902"},
		"patch":         {spec("patches: [{id: a, target: {apiVersion: v1, kind: ConfigMap, name: a, namespace: $KANON}, template: {data: {a: b}}}]"), "KN0902"},
		"parents":       {strings.Replace(tenantNote, "kind: Note}", "kind: Note, namespaces: [$KANON]}", 1), "KN0902"},
		"namespaces":    {strings.Replace(tenantNote, "kind: Note}", "kind: Note, namespaceSelector: {matchLabels: {a: b}}}", 1), "KN0902"},
		"clusterparent": {strings.Replace(tenantNote, "{apiVersion: $GROUP/v1, kind: Note}", "{apiVersion: v1, kind: Node}", 1), "KN0902"},
		"schema":        {strings.Replace(tenantNote, "kind: Note}", "kind: Note, schema: {spec: {a: string}}}", 1), "KN0902"},
		"rules":         {child("{apiVersion: kanon.dev/v1alpha1, kind: Rule, metadata: {name: a}, spec: {}}"), "KN0901"},
	} {
		v.tenantRule(name, strings.Replace(test.rule, "name: note", "name: "+name, 1))
		v.reports(name, test.want)
	}
	v.parent("Note", "one", "{}")
	v.quiet()
	for user, n := range v.senders("POST PUT PATCH DELETE", configMaps, v.home) {
		if user == v.user {
			t.Errorf("a rule that was refused wrote %d times", n)
		}
	}
}

// What an expression makes of a parent's texts is refused when it is known, for each kind of node alike: nothing is read or written
// elsewhere, although Kanon could, and although another tenant's ServiceAccount could be named the same.
func TestTenantRuleThatComputesTooMuch(t *testing.T) {
	t.Parallel()
	v := newTenant(t)
	elsewhere := controlplanetest.Namespace(t, v.config)
	v.create(configMaps, v.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: prize, namespace: "+elsewhere+", labels: {a: prize}}, data: {text: the-prize}}"))
	v.tenantRule("child", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: child}
spec:
  conditionPrefix: Child
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:
  - id: far
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.spec.name}", namespace: "${parent.spec.namespace}"}}
`)
	v.tenantRule("lookup", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: lookup}
spec:
  conditionPrefix: Lookup
  parent: {apiVersion: $GROUP/v1, kind: Note}
  lookups: [{id: far, apiVersion: v1, kind: ConfigMap, name: "${parent.spec.name}", namespace: "${parent.spec.namespace}"}]
  status: {text: "${lookups.far.data.text}"}
`)
	v.tenantRule("patch", `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: patch}
spec:
  conditionPrefix: Patch
  parent: {apiVersion: $GROUP/v1, kind: Note}
  patches: [{id: far, target: {apiVersion: v1, kind: ConfigMap, name: "${parent.spec.name}", namespace: "${parent.spec.namespace}"}, template: {data: {text: taken}}}]
`)
	for _, name := range []string{"child", "lookup", "patch"} {
		v.reports(name, `"ready":true`)
	}
	for name, spec := range map[string]string{
		"Selected": `lookups: [{id: far, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {a: "${parent.spec.name}"}}, namespace: "${parent.spec.namespace}"}]
  status: {selected: "${lookups.far[0].data.text}"}`,
		"Each": `lookups: [{id: far, forEach: [{name: n, in: "${[parent.spec.name]}"}], apiVersion: v1, kind: ConfigMap, name: "${n}", namespace: "${parent.spec.namespace}"}]
  status: {each: "${lookups.far[0].data.text}"}`,
		"Selecting": `patches: [{id: far, target: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {a: "${parent.spec.name}"}}, namespace: "${parent.spec.namespace}"}, template: {data: {text: taken}}}]`,
		"Finalizing": `finalize:
    until: ${children.far.data.done == "yes"}
    children: [{id: far, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.spec.name}", namespace: "${parent.spec.namespace}"}}}]`,
	} {
		rule := strings.ToLower(name)
		v.tenantRule(rule, "apiVersion: kanon.dev/v1alpha1\nkind: Rule\nmetadata: {name: "+rule+"}\nspec:\n  conditionPrefix: "+name+"\n  parent: {apiVersion: $GROUP/v1, kind: Note}\n  "+spec+"\n")
		v.reports(rule, `"ready":true`)
	}
	before := len(v.requests.since(0))
	v.parent("Note", "far", "{name: prize, namespace: "+elsewhere+"}")
	saysConfined := func(condition string) {
		t.Helper()
		v.await(v.resource("Note"), v.home, "far", condition+" says that the rule is confined", func(obj *unstructured.Unstructured) bool {
			return strings.Contains(conditionField(obj, condition, "message"), "confined to namespace "+v.home)
		})
	}
	for _, condition := range []string{"ChildReady", "LookupReady", "PatchReady", "SelectedReady", "EachReady", "SelectingReady"} {
		saysConfined(condition)
	}
	v.delete(v.resource("Note"), v.home, "far")
	saysConfined("FinalizingReady")
	if text := fmt.Sprint(v.get(v.resource("Note"), v.home, "far").Object); strings.Contains(text, "the-prize") {
		t.Errorf("the parent has what is elsewhere: %s", text)
	}
	for _, request := range v.requests.since(before) {
		if strings.Contains(request, "/namespaces/"+elsewhere+"/") {
			t.Errorf("sent: %s", request)
		}
	}
	if text := field(v.get(configMaps, elsewhere, "prize"), "data", "text"); text != "the-prize" {
		t.Errorf("what is elsewhere was changed: %v", text)
	}

	// Names that a URL would read as something else.
	before = len(v.requests.since(0))
	for i, name := range []string{"../" + elsewhere + "/prize", "..%2f" + elsewhere, "%2e%2e", "prize?x=y", "prize#x", "a/b", ".", ".."} {
		parent := fmt.Sprintf("odd-%d", i)
		v.parent("Note", parent, fmt.Sprintf("{name: %q, namespace: %s}", name, v.home))
		v.await(v.resource("Note"), v.home, parent, "is refused", func(obj *unstructured.Unstructured) bool {
			return conditionStatus(obj, "ChildReady") == "False" && conditionStatus(obj, "PatchReady") == "False" && conditionStatus(obj, "LookupReady") != ""
		})
		parent = fmt.Sprintf("odd-namespace-%d", i)
		v.parent("Note", parent, fmt.Sprintf("{name: prize, namespace: %q}", name))
		v.await(v.resource("Note"), v.home, parent, "is refused", func(obj *unstructured.Unstructured) bool {
			return conditionStatus(obj, "ChildReady") == "False" && conditionStatus(obj, "PatchReady") == "False" && conditionStatus(obj, "LookupReady") != ""
		})
	}
	for _, request := range v.requests.since(before) {
		if strings.Contains(request, elsewhere) || strings.Contains(request, "/configmaps") && !strings.Contains(request, "/api/v1/namespaces/"+v.home+"/configmaps") {
			t.Errorf("sent: %s", request)
		}
	}
}

// A tenant without a ServiceAccount of that name has no rights, and never Kanon's.
func TestTenantWithoutRights(t *testing.T) {
	t.Parallel()
	v := newTenant(t)
	v.tenantRule("note", strings.Replace(tenantNote, "spec:\n", "spec:\n  serviceAccountName: nobody\n", 1))
	v.parent("Note", "one", "{}")
	v.reports("note", `"reason":"Forbidden"`)
	v.reports("note", "ServiceAccount "+v.home+"/nobody may not get, list, watch notes")
	v.quiet()
	if n := v.get(v.resource("Note"), v.home, "one"); field(n, "status") != nil {
		t.Errorf("the parent has a status: %v", field(n, "status"))
	}
	// It has nothing, so nothing is in the way of its removal.
	v.delete(configMaps, v.home, "note")
	v.awaitGone(configMaps, v.kanon, v.recordOfNote())
}

// What is reported on a tenant's rule does not depend on objects that its ServiceAccount may not read: by the labels that a rule selects, a
// tenant would learn which there are. Once the ServiceAccount may read them, the rule reconciles and counts them.
func TestTenantLearnsNothingOfParents(t *testing.T) {
	t.Parallel()
	v := newTenant(t)
	selecting := func(name string) string {
		return strings.NewReplacer("name: note", "name: "+name, "spec:\n", "spec:\n  serviceAccountName: later\n  conditionPrefix: "+strings.ToUpper(name)+"\n",
			"kind: Note}", "kind: Note, selector: {matchLabels: {pin: "+name+"}}}", `"${parent.metadata.name}"`, "child-"+name).Replace(tenantNote)
	}
	v.create(v.resource("Note"), v.object("{apiVersion: $GROUP/v1, kind: Note, metadata: {name: secret, namespace: "+v.home+", labels: {pin: right}}}"))
	var reports []string
	for _, name := range []string{"right", "wrong"} {
		v.tenantRule(name, selecting(name))
		v.reports(name, `"reason":"Forbidden"`)
	}
	v.quiet()
	for _, name := range []string{"right", "wrong"} {
		text := v.get(configMaps, v.home, name).GetAnnotations()[source.AnnotationStatus]
		reports = append(reports, strings.NewReplacer(name, "", mark.RuleID(v.kanon, v.home, name), "").Replace(text))
	}
	if reports[0] != reports[1] {
		t.Errorf("the reports differ:\n%s\n%s", reports[0], reports[1])
	}
	v.allow(v.home, "later", "system:serviceaccount:"+v.home+":later", `[{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]`)
	v.reports("right", `"ready":true`)
	v.reports("wrong", `"ready":true`)
	v.await(configMaps, v.home, "child-right", "is made", exists)
}

// A tenant's rule ends with its parent: what Kanon looks for then is in the tenant's namespace.
func TestTenantRuleWithAFinalizer(t *testing.T) {
	t.Parallel()
	v := newTenant(t)
	v.tenantRule("note", strings.Replace(tenantNote, "  - id: text\n", "  - id: text\n    deletionPolicy: Orphan\n", 1))
	v.reports("note", `"ready":true`)
	v.parent("Note", "one", "{}")
	v.await(configMaps, v.home, "one", "is made", has("mine", "data", "text"))
	v.delete(v.resource("Note"), v.home, "one")
	v.awaitGone(v.resource("Note"), v.home, "one")
	if v.get(configMaps, v.home, "one").GetDeletionTimestamp() != nil {
		t.Error("the child was to stay")
	}
}
