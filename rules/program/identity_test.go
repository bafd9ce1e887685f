package program

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func service(metadata map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": metadata}}
}

func TestComplete(t *testing.T) {
	inTeam := objectPlace{Kind: "Service", Namespaced: true, Parent: "team-a", ParentNamespaced: true}
	fromCluster := objectPlace{Kind: "Service", Namespaced: true}
	clusterScoped := objectPlace{Kind: "Namespace", Parent: "team-a", ParentNamespaced: true}
	tests := map[string]struct {
		at       objectPlace
		metadata map[string]any
		id, want string
	}{
		"the parent's namespace":      {inTeam, map[string]any{"name": "web"}, `Service "team-a/web"`, ""},
		"its own namespace":           {inTeam, map[string]any{"name": "web", "namespace": "b"}, `Service "b/web"`, ""},
		"cluster-scoped":              {clusterScoped, map[string]any{"name": "web"}, `Service "web"`, ""},
		"a parent not known yet":      {objectPlace{Namespaced: true, ParentNamespaced: true}, map[string]any{"name": "web"}, `Service "web"`, ""},
		"no metadata":                 {inTeam, nil, "", "must be a map"},
		"no name":                     {inTeam, map[string]any{}, "", "name: is missing"},
		"a number for a name":         {inTeam, map[string]any{"name": int64(1)}, "", "name: must be a string, and is an int; make it one with string(…)"},
		"an empty name":               {inTeam, map[string]any{"name": ""}, "", "name: is empty"},
		"a name that the server ends": {inTeam, map[string]any{"name": "a", "generateName": "a-"}, "", "generateName: would create a new object at every evaluation"},
		"an empty namespace":          {inTeam, map[string]any{"name": "a", "namespace": ""}, "", "namespace: must be a string that is not empty"},
		"a namespace too much":        {clusterScoped, map[string]any{"name": "a", "namespace": "b"}, "", "namespace: Namespace is cluster-scoped and cannot have a namespace"},
		"a namespace too few":         {fromCluster, map[string]any{"name": "a"}, "", "namespace: is needed, because the parent is cluster-scoped"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := service(test.metadata)
			if test.metadata == nil {
				delete(object.Object, "metadata")
			}
			p := completeObject(object, test.at)
			if got := text(p); got != test.want {
				t.Fatalf("got %q, want %q", got, test.want)
			}
			if got := identityOf(object).String(); p == nil && got != test.id {
				t.Errorf("it is %s, want %s", got, test.id)
			}
		})
	}
}

func TestCheckPatch(t *testing.T) {
	metadata := func(field string, value any) map[string]any {
		return map[string]any{"metadata": map[string]any{field: value}}
	}
	tests := map[string]struct {
		fields map[string]any
		want   string
	}{
		"fields":         {map[string]any{"spec": map[string]any{"a": "b"}}, ""},
		"a label":        {metadata("labels", map[string]any{"team": "a"}), ""},
		"a kind":         {map[string]any{"kind": "Service"}, "kind: a patch cannot set it"},
		"metadata":       {map[string]any{"metadata": "web"}, "metadata: must be a map"},
		"a name":         {metadata("name", "web"), "metadata.name: a patch cannot set it"},
		"the server's":   {metadata("uid", "1"), "metadata.uid: a patch cannot set it"},
		"Kanon's marks":  {metadata("labels", map[string]any{"kanon.dev/rule": "a"}), "metadata.labels[kanon.dev/rule]: a patch cannot set it: it is Kanon's own"},
		"an odd mapping": {metadata("labels", "none"), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := text(checkPatchFields(test.fields)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestKeep(t *testing.T) {
	object := service(map[string]any{"name": "web", "password": "new", "token": "new"})
	live := service(map[string]any{"name": "web", "password": "old"})
	password, token := []string{"metadata", "password"}, []string{"metadata", "token"}
	fields := []GeneratedField{{Path: password, Variable: true}, {Path: token}}
	if !readsAnother(fields, object, live) {
		t.Error("the variable has the value of the live object")
	}
	fresh, p := keepValues(fields, object, live)
	if p != nil {
		t.Fatal(p)
	}
	if diff := cmp.Diff([][]string{token}, fresh); diff != "" {
		t.Errorf("fresh (-want +got):\n%s", diff)
	}
	want := service(map[string]any{"name": "web", "password": "old", "token": "new"})
	if diff := cmp.Diff(want, object); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if readsAnother(fields, object, live) {
		t.Error("what was kept differs")
	}
	odd := []GeneratedField{{Path: []string{"metadata", "name", "first"}}}
	live.Object["metadata"] = map[string]any{"name": map[string]any{"first": "a"}}
	if _, p := keepValues(odd, object, live); text(p) != "template.metadata.name.first: the field cannot keep its value" {
		t.Errorf("a field that is no field any more gives %q", text(p))
	}
}

func text(p *Problem) string {
	if p == nil {
		return ""
	}
	return p.Error()
}
