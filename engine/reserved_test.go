package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/source"
)

// touchingRule writes a child or a patch of each kind of object that Kanon has in its own namespace, where its parents
// say so.
func touchingRule(privileged bool) string {
	var children, patches strings.Builder
	node := func(apiVersion, kind, content string) {
		id := strings.ToLower(kind)
		fmt.Fprintf(&children, `
  - id: %[1]s
    when: ${parent.spec.kind == "%[3]s" && parent.spec.as == "child"}
    adopt: true
    template:
      apiVersion: %[2]s
      kind: %[3]s
      metadata: {name: "${parent.spec.name}", namespace: $KANON, labels: "${parent.spec.?labels}", annotations: {touched: "yes"}}
%[4]s`, id, apiVersion, kind, content)
		fmt.Fprintf(&patches, `
  - id: %[1]s
    when: ${parent.spec.kind == "%[3]s" && parent.spec.as == "patch"}
    target: {apiVersion: %[2]s, kind: %[3]s, name: "${parent.spec.name}", namespace: $KANON}
    template: {metadata: {labels: "${parent.spec.?labels}", annotations: {touched: "yes"}}}
`, id, apiVersion, kind)
	}
	node("v1", "ConfigMap", "")
	node("v1", "Secret", "")
	node("v1", "ServiceAccount", "")
	node("coordination.k8s.io/v1", "Lease", "")
	node("apps/v1", "Deployment", `      spec:
        selector: {matchLabels: {a: b}}
        template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: "example.com/other"}]}}
`)
	if privileged {
		node("kanon.dev/v1alpha1", "Rule", "      spec: {parent: {apiVersion: v1, kind: Namespace}}\n")
	}
	return fmt.Sprintf(`
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: touching, namespace: $KANON}
spec:
  allowPrivileged: %t
  parent: {apiVersion: $GROUP/v1, kind: Note}
  children:%s
  patches:%s`, privileged, children.String(), patches.String())
}

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// ownObjects creates objects like those that Kanon has in its own namespace.
func (w *world) ownObjects() {
	w.t.Helper()
	for _, obj := range []struct {
		gvr  schema.GroupVersionResource
		text string
	}{
		{configMaps, "{apiVersion: v1, kind: ConfigMap, metadata: {name: plain, namespace: $KANON}}"},
		{configMaps, "{apiVersion: v1, kind: ConfigMap, metadata: {name: rules, namespace: $KANON, labels: {kanon.dev/rules: 'true'}}}"},
		{leases, "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: kanon, namespace: $KANON}}"},
		{serviceAccounts, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: controller, namespace: $KANON, labels: {app.kubernetes.io/name: kanon}}}"},
		{ruleObjects, "{apiVersion: kanon.dev/v1alpha1, kind: Rule, metadata: {name: theirs, namespace: $KANON}, " +
			"spec: {suspend: true, parent: {apiVersion: $GROUP/v1, kind: Other}}}"},
		{deployments, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: controller, namespace: $KANON, labels: {app.kubernetes.io/name: kanon}}, " +
			"spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: example.com/kanon}]}}}}"},
	} {
		w.create(obj.gvr, w.object(obj.text))
	}
}

// Whatever the source of a rule is, and also if it says allowPrivileged, its parents cannot have it write Kanon's own
// objects: they choose names in these tests.
func TestRulesDoNotWriteKanonsObjects(t *testing.T) {
	// Not in parallel: TestRuleObjects removes the kind Rule.
	newWorld(t).defineRules()
	for _, privileged := range []bool{false, true} {
		for name, install := range map[string]func(w *world, text string) func(*engine.Options){
			"ConfigMap": func(w *world, text string) func(*engine.Options) {
				w.rule("touching", text)
				return func(*engine.Options) {}
			},
			"Rule": func(w *world, text string) func(*engine.Options) {
				w.create(ruleObjects, w.object(text))
				return func(o *engine.Options) { o.Sources = append(o.Sources, source.NewRuleObjects(w.client, w.kanon)) }
			},
			"file": func(w *world, text string) func(*engine.Options) {
				path := filepath.Join(w.t.TempDir(), "rule.yaml")
				if err := os.WriteFile(path, []byte(w.expand(text)), 0o600); err != nil {
					w.t.Fatal(err)
				}
				return func(o *engine.Options) {
					files, err := source.NewFiles(path)
					if err != nil {
						w.t.Fatal(err)
					}
					o.Sources = append(o.Sources, files)
				}
			},
		} {
			t.Run(fmt.Sprintf("%s/privileged=%t", name, privileged), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "Note")
				w.ownObjects()
				w.run(install(w, touchingRule(privileged)))
				w.wantOwnObjectsUntouched(privileged)
			})
		}
	}
}

// wantOwnObjectsUntouched has parents name Kanon's own objects, and fails unless each is refused.
func (w *world) wantOwnObjectsUntouched(privileged bool) {
	w.t.Helper()
	w.await(secrets, w.kanon, "kanon-keys", "exists", exists)
	record := w.recordOf("touching")
	w.await(configMaps, w.kanon, record, "exists", exists)
	named := map[string]struct {
		gvr                    schema.GroupVersionResource
		kind, target, rejected string
		labels                 string
	}{
		"keys":            {secrets, "Secret", "kanon-keys", "its name is kanon-keys", "{}"},
		"lease":           {leases, "Lease", "kanon", "its name is kanon", "{}"},
		"record":          {configMaps, "ConfigMap", record, "its name begins with kanon-state-", "{}"},
		"deployment":      {deployments, "Deployment", "controller", "app.kubernetes.io/name=kanon", "{}"},
		"service-account": {serviceAccounts, "ServiceAccount", "controller", "app.kubernetes.io/name=kanon", "{}"},
		"label":           {configMaps, "ConfigMap", "plain", "app.kubernetes.io/name=kanon", "{app.kubernetes.io/name: kanon}"},
		"relabelled":      {deployments, "Deployment", "controller", "app.kubernetes.io/name=kanon", "{app.kubernetes.io/name: other}"},
	}
	if privileged { // otherwise they are refused because they grant rights
		more := named["label"]
		more.target, more.rejected, more.labels = "rules", "it has the label kanon.dev/rules", "{}"
		named["rules"] = more
		more.gvr, more.kind, more.target, more.rejected = ruleObjects, "Rule", "theirs", "it is a Rule.kanon.dev"
		named["rule"] = more
	}
	for name, tt := range named {
		for _, as := range []string{"child", "patch"} {
			w.parent("Note", name+"-"+as, fmt.Sprintf("{kind: %s, as: %s, name: %s, labels: %s}", tt.kind, as, tt.target, tt.labels))
		}
	}
	for name, tt := range named {
		for _, as := range []string{"child", "patch"} {
			w.await(w.resource("Note"), w.home, name+"-"+as, "says that it is refused", func(obj *unstructured.Unstructured) bool {
				message := conditionField(obj, "Stalled", "message")
				return strings.Contains(message, "no rule may write Kanon's own objects") && strings.Contains(message, tt.rejected)
			})
		}
		if obj := w.get(tt.gvr, w.kanon, tt.target); obj.GetAnnotations()["touched"] != "" {
			w.t.Errorf("%s %s was written", tt.kind, tt.target)
		}
	}
	// Another name is for nobody but the rule and its parents.
	w.parent("Note", "fine", "{kind: Deployment, as: child, name: fine, labels: {app.kubernetes.io/name: fine}}")
	w.await(deployments, w.kanon, "fine", "is made", exists)
	w.parent("Note", "fine-patch", "{kind: ConfigMap, as: patch, name: plain, labels: {app.kubernetes.io/name: fine}}")
	w.await(configMaps, w.kanon, "plain", "is patched", func(obj *unstructured.Unstructured) bool { return obj.GetAnnotations()["touched"] != "" })
}
