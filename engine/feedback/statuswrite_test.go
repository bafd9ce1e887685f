package feedback

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// objectAt is an object at a version.
func objectAt(name, uid, version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "uid": uid, "resourceVersion": version},
	}}
}

func isTestManager(manager string) bool { return manager == "own" }

// A write of a status changes the status and what is recorded of the write.
func TestIsStatusWrite(t *testing.T) {
	t.Parallel()
	object := func(version, spec, status string, managers ...string) *unstructured.Unstructured {
		obj := objectAt("p", "parent", version)
		obj.SetGeneration(int64(len(version)))
		obj.Object["spec"], obj.Object["status"] = spec, status
		entries := make([]any, len(managers))
		for i, manager := range managers {
			entries[i] = map[string]any{"manager": manager}
			if isTestManager(manager) {
				entries[i] = map[string]any{"manager": manager, "fieldsV1": map[string]any{"f:status": status}}
			}
		}
		obj.Object["metadata"].(map[string]any)["managedFields"] = entries
		return obj
	}
	before := object("1", "a", "x", "other", "own")
	for name, test := range map[string]struct {
		after *unstructured.Unstructured
		want  bool
	}{
		"the status":             {object("22", "a", "y", "other", "own"), true},
		"the spec":               {object("22", "b", "y", "other", "own"), false},
		"another manager":        {object("22", "a", "y", "other", "third", "own"), false},
		"the own manager leaves": {object("22", "a", "", "other"), true},
	} {
		if got := IsStatusWrite(before, test.after, isTestManager); got != test.want {
			t.Errorf("%s: it is a write of the status alone: %v, want %v", name, got, test.want)
		}
	}
	if before.Object["status"] != "x" || len(before.GetManagedFields()) != 2 {
		t.Error("the object was changed")
	}
}
