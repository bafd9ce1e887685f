package apply

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	own := Reserved{
		Namespace: "kanon-system",
		Labels:    []string{"kanon.dev/rules", "kanon.dev/state"},
		OwnLabels: map[string]string{"app.kubernetes.io/name": "kanon"},
		Prefixes:  map[schema.GroupKind]string{{Kind: "ConfigMap"}: "kanon-state-"},
		Names: map[schema.GroupKind]string{
			{Kind: "Secret"}: "kanon-keys", {Group: "coordination.k8s.io", Kind: "Lease"}: "kanon",
		},
		Kinds: []schema.GroupKind{{Group: "kanon.dev", Kind: "Rule"}},
	}
	for name, tt := range map[string]struct {
		apiVersion, kind, metadata string
		// refused is part of the reason; empty if the object may be written.
		refused string
	}{
		"a record":                      {"v1", "ConfigMap", "{name: kanon-state-1, namespace: kanon-system}", "its name begins with kanon-state-"},
		"a record elsewhere":            {"v1", "ConfigMap", "{name: kanon-state-1, namespace: team-a}", ""},
		"a Secret with a record's name": {"v1", "Secret", "{name: kanon-state-1, namespace: kanon-system}", ""},
		"the label of rules":            {"v1", "ConfigMap", "{name: a, namespace: kanon-system, labels: {kanon.dev/rules: 'false'}}", "it has the label kanon.dev/rules"},
		"the label of records":          {"v1", "ConfigMap", "{name: a, namespace: kanon-system, labels: {kanon.dev/state: 'true'}}", "it has the label kanon.dev/state"},
		"a label elsewhere":             {"v1", "ConfigMap", "{name: a, namespace: team-a, labels: {kanon.dev/rules: 'true'}}", ""},
		"the keys":                      {"v1", "Secret", "{name: kanon-keys, namespace: kanon-system}", "its name is kanon-keys"},
		"keys elsewhere":                {"v1", "Secret", "{name: kanon-keys, namespace: team-a}", ""},
		"a ConfigMap with their name":   {"v1", "ConfigMap", "{name: kanon-keys, namespace: kanon-system}", ""},
		"another Secret":                {"v1", "Secret", "{name: kanon-keys-2, namespace: kanon-system}", ""},
		"the Lease":                     {"coordination.k8s.io/v1", "Lease", "{name: kanon, namespace: kanon-system}", "its name is kanon"},
		"the Lease in another version":  {"coordination.k8s.io/v1beta1", "Lease", "{name: kanon, namespace: kanon-system}", "its name is kanon"},
		"another Lease":                 {"coordination.k8s.io/v1", "Lease", "{name: other, namespace: kanon-system}", ""},
		"a Rule":                        {"kanon.dev/v1alpha1", "Rule", "{name: a, namespace: kanon-system}", "it is a Rule.kanon.dev"},
		"a Rule elsewhere":              {"kanon.dev/v1alpha1", "Rule", "{name: a, namespace: team-a}", ""},
		"a Rule of another group":       {"example.com/v1", "Rule", "{name: a, namespace: kanon-system}", ""},
		"Kanon's Deployment":            {"apps/v1", "Deployment", "{name: any, namespace: kanon-system, labels: {app.kubernetes.io/name: kanon}}", "app.kubernetes.io/name=kanon"},
		"another Deployment":            {"apps/v1", "Deployment", "{name: any, namespace: kanon-system, labels: {app.kubernetes.io/name: web}}", ""},
		"a Deployment elsewhere":        {"apps/v1", "Deployment", "{name: kanon, namespace: team-a, labels: {app.kubernetes.io/name: kanon}}", ""},
		"an object without a namespace": {"v1", "Namespace", "{name: kanon-system, labels: {app.kubernetes.io/name: kanon}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			metadata := map[string]any{}
			if err := yaml.Unmarshal([]byte(tt.metadata), &metadata); err != nil {
				t.Fatal(err)
			}
			obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": tt.apiVersion, "kind": tt.kind, "metadata": metadata}}
			if err := (Reserved{}).Check(obj); err != nil {
				t.Errorf("the zero value reserves it: %v", err)
			}
			err := own.Check(obj)
			switch {
			case tt.refused == "" && err != nil:
				t.Errorf("it is refused: %v", err)
			case tt.refused != "" && err == nil:
				t.Error("it is not refused")
			case tt.refused != "" && (!strings.Contains(err.Error(), tt.refused) || !errors.As(err, new(*InvalidError))):
				t.Errorf("it is refused by %T: %v; want %q", err, err, tt.refused)
			}
		})
	}
}
