package fieldset

import (
	"hash/maphash"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"kanon.dev/kanon/engine/apply/applytest"
	"kanon.dev/kanon/engine/apply/mark"
)

const rendered = `
apiVersion: test/v1
kind: Thing
metadata: {name: child, namespace: ns}
`

// One converter for all tests, as a shape belongs to one.
var (
	converterMu sync.Mutex
	converter   managedfields.TypeConverter
)

// kindOf is an object's kind by applytest.Schemas, or without a schema.
func kindOf(tb testing.TB, obj *unstructured.Unstructured) Kind {
	tb.Helper()
	converterMu.Lock()
	defer converterMu.Unlock()
	if converter == nil {
		converter = applytest.Converter(tb, applytest.Schemas)
	}
	gvk := obj.GroupVersionKind()
	k, err := NewKind(gvk, converter, false)
	if err != nil {
		k, err = NewKind(gvk, managedfields.NewDeducedTypeConverter(), true)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// desired makes a Desired of YAML, marked as a child is, with a controller.
func desired(tb testing.TB, text string) *Desired {
	tb.Helper()
	d, _ := desiredWith(tb, &Shapes{Seed: maphash.MakeSeed()}, text, "parent-uid")
	return d
}

// desiredWith is desired with the controller of that UID (empty: none), with the shapes that are known and the hash of the paths.
func desiredWith(tb testing.TB, known *Shapes, text, controller string) (*Desired, string) {
	tb.Helper()
	obj := applytest.Object(tb, text)
	obj.SetLabels(withEntry(obj.GetLabels(), mark.LabelRule))
	obj.SetAnnotations(withEntry(obj.GetAnnotations(), mark.AnnotationApplied))
	if controller != "" {
		is := true
		obj.SetOwnerReferences(append(obj.GetOwnerReferences(), metav1.OwnerReference{
			APIVersion: "shop/v1", Kind: "App", Name: "app", UID: types.UID(controller), Controller: &is,
		}))
	}
	k := kindOf(tb, obj)
	d, err := NewDesired(k, k.Normalise(obj, false), nil)
	if err != nil {
		tb.Fatal(err)
	}
	paths, err := d.TakeShape(known)
	if err != nil {
		tb.Fatal(err)
	}
	return d, paths
}

func withEntry(entries map[string]string, key string) map[string]string {
	if entries == nil {
		entries = map[string]string{}
	}
	entries[key] = ""
	return entries
}

// ownedMetadata is what our entries hold of metadata in every case below.
const ownedMetadata = `"f:metadata": {
	"f:labels": {"f:kanon.dev/rule": {}, "f:kanon.dev/parent-uid": {}, "f:kanon.dev/node": {}},
	"f:annotations": {"f:kanon.dev/owner": {}, "f:kanon.dev/applied": {}},
	"f:ownerReferences": {"k:{\"uid\":\"parent-uid\"}": {}}}`

func TestCovered(t *testing.T) {
	const v1 = "test/v1"
	type entries []map[string]any
	ours := func(fields string) map[string]any {
		return applytest.Managed(t, Manager, "Apply", v1, "{"+ownedMetadata+fields+"}")
	}
	tests := map[string]struct {
		reason  string
		spec    string
		entries entries
		want    bool
	}{
		"scalar":           {"the plain case", "{replicas: 1}", entries{ours(`, "f:spec": {"f:replicas": {}}`)}, true},
		"scalar not owned": {"changed by somebody", "{replicas: 1}", entries{ours(`, "f:spec": {}`)}, false},
		"scalar, by the parent alone": {
			"a node above says nothing of what is below a granular map", "{replicas: 1}", entries{ours(`, "f:spec": {".": {}}`)}, false,
		},
		"scalar, entry goes deeper": {
			"recorded when it was something else", "{replicas: 1}", entries{ours(`, "f:spec": {"f:replicas": {".": {}, "f:x": {}}}`)}, false,
		},
		"Update entry": {
			"a POST's entry counts", "{replicas: 1}",
			entries{applytest.Managed(t, Manager, "Update", v1, "{"+ownedMetadata+`, "f:spec": {"f:replicas": {}}}`)},
			true,
		},
		"Apply and Update together": {
			"each has a part", "{replicas: 1, paused: true}", entries{
				ours(`, "f:spec": {"f:replicas": {}}`), applytest.Managed(t, Manager, "Update", v1, `{"f:spec": {"f:paused": {}}}`),
			}, true,
		},
		"another manager": {
			"whoever else owns it", "{replicas: 1}",
			entries{ours(""), applytest.Managed(t, "kubectl", "Apply", v1, `{"f:spec": {"f:replicas": {}}}`)},
			false,
		},
		"a subresource": {
			"scale is written by others in the name of nobody", "{replicas: 1}", entries{ours(""), func() map[string]any {
				e := applytest.Managed(t, Manager, "Update", v1, `{"f:spec": {"f:replicas": {}}}`)
				e["subresource"] = "scale"
				return e
			}()}, false,
		},
		"another version": {
			"its paths mean something else", "{replicas: 1}",
			entries{ours(""), applytest.Managed(t, Manager, "Update", "test/v1beta1", `{"f:spec": {"f:replicas": {}}}`)},
			false,
		},
		"no entries":    {"managedFields were reset", "{replicas: 1}", nil, false},
		"garbled entry": {"it covers nothing, and nothing breaks", "{replicas: 1}", entries{applytest.Managed(t, Manager, "Apply", v1, `{"x:y": 1}`)}, false},
		"atomic list":   {"the entry ends where the schema does", "{args: [a, b]}", entries{ours(`, "f:spec": {"f:args": {}}`)}, true},
		"atomic list, entry has items": {
			"it was granular then", "{args: [a]}", entries{ours(`, "f:spec": {"f:args": {".": {}, "v:\"a\"": {}}}`)}, false,
		},
		"atomic map": {"the entry ends where the schema does", "{selector: {a: b}}", entries{ours(`, "f:spec": {"f:selector": {}}`)}, true},
		"atomic map, entry goes deeper": {
			"it was granular then", "{selector: {a: b}}", entries{ours(`, "f:spec": {"f:selector": {"f:a": {}}}`)}, false,
		},
		"granular map": {"key by key", "{limits: {cpu: a}}", entries{ours(`, "f:spec": {"f:limits": {"f:cpu": {}}}`)}, true},
		"granular map, entry ends above": {
			"an empty node under a granular map covers nothing but an empty value", "{limits: {cpu: a}}",
			entries{ours(`, "f:spec": {"f:limits": {}}`)},
			false,
		},
		"granular map, another key": {"key by key", "{limits: {cpu: a}}", entries{ours(`, "f:spec": {"f:limits": {"f:memory": {}}}`)}, false},
		"set":                       {"item by item", "{finalizers: [a, b]}", entries{ours(`, "f:spec": {"f:finalizers": {"v:\"a\"": {}, "v:\"b\"": {}}}`)}, true},
		"set, an item missing":      {"removed by somebody", "{finalizers: [a, b]}", entries{ours(`, "f:spec": {"f:finalizers": {"v:\"a\"": {}}}`)}, false},
		"set, entry is the list":    {"it was atomic then", "{finalizers: [a]}", entries{ours(`, "f:spec": {"f:finalizers": {}}`)}, false},
		"list map, key completed": {
			"the entry has the default", "{ports: [{port: 80}]}",
			entries{ours(`, "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:protocol": {}}}}`)},
			true,
		},
		"list map, item without its fields": {
			"an item alone covers none of them", "{ports: [{port: 80}]}",
			entries{ours(`, "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}}}}`)},
			false,
		},
		"list map, another item": {
			"removed by somebody", "{ports: [{port: 80}]}",
			entries{ours(`, "f:spec": {"f:ports": {"k:{\"port\":81,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:protocol": {}}}}`)},
			false,
		},
		"empty struct": {"owned as it is", "{emptyDir: {}}", entries{ours(`, "f:spec": {"f:emptyDir": {}}`)}, true},
		"empty struct, filled since": {
			"it is there, which was all that was asked for", "{emptyDir: {}}", entries{ours(`, "f:spec": {"f:emptyDir": {"f:medium": {}}}`)}, true,
		},
		"empty struct, removed": {"nothing of it is ours", "{emptyDir: {}}", entries{ours(`, "f:spec": {"f:replicas": {}}`)}, false},
		"nullable":              {"a null is a value", "{nullable: null}", entries{ours(`, "f:spec": {"f:nullable": {}}`)}, true},
		"defaulted fields are nobody's business": {
			"what is owned beyond the rendered paths", "{replicas: 1}", entries{ours(`, "f:spec": {"f:replicas": {}, "f:paused": {}}`)}, true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := desired(t, rendered+"spec: "+tt.spec)
			if got := c.Covered(applytest.WithManaged(c.Object, tt.entries...)); got != tt.want {
				t.Errorf("covered = %t, want %t: %s\nleaves:\n%s", got, tt.want, tt.reason, c.shape.leaves)
			}
		})
	}
}

func TestCoveredMetadata(t *testing.T) {
	c := desired(t, rendered)
	tests := map[string]struct {
		metadata string
		want     bool
	}{
		"all of it":                 {ownedMetadata, true},
		"the label is not":          {`"f:metadata": {"f:annotations": {"f:kanon.dev/applied": {}}, "f:ownerReferences": {"k:{\"uid\":\"parent-uid\"}": {}}}`, false},
		"the mark is not":           {`"f:metadata": {"f:labels": {"f:kanon.dev/rule": {}}, "f:ownerReferences": {"k:{\"uid\":\"parent-uid\"}": {}}}`, false},
		"the ownerReference is not": {`"f:metadata": {"f:labels": {"f:kanon.dev/rule": {}}, "f:annotations": {"f:kanon.dev/applied": {}}, "f:ownerReferences": {"k:{\"uid\":\"other\"}": {}}}`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			live := applytest.WithManaged(c.Object, applytest.Managed(t, Manager, "Apply", "test/v1", "{"+tt.metadata+"}"))
			if got := c.Covered(live); got != tt.want {
				t.Errorf("covered = %t, want %t\nleaves:\n%s", got, tt.want, c.shape.leaves)
			}
		})
	}
}

func TestCoveredWithoutASchema(t *testing.T) {
	const unknown = "apiVersion: v9\nkind: Unknown\nmetadata: {name: a, namespace: ns}\nspec: {list: [{name: a}], map: {a: 1}}\n"
	c := desired(t, unknown)
	tests := map[string]struct {
		spec string
		want bool
	}{
		"lists atomic, maps granular": {`{"f:list": {}, "f:map": {"f:a": {}}}`, true},
		"the server knows more":       {`{"f:list": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}, "f:map": {"f:a": {}}}`, false},
		"the map is atomic":           {`{"f:list": {}, "f:map": {}}`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			metadata := `"f:metadata": {
				"f:labels": {"f:kanon.dev/rule": {}, "f:kanon.dev/parent-uid": {}, "f:kanon.dev/node": {}},
				"f:annotations": {"f:kanon.dev/owner": {}, "f:kanon.dev/applied": {}}, "f:ownerReferences": {}}`
			live := applytest.WithManaged(c.Object, applytest.Managed(t, Manager, "Apply", "v9", "{"+metadata+`, "f:spec": `+tt.spec+"}"))
			if got := c.Covered(live); got != tt.want {
				t.Errorf("covered = %t, want %t\nleaves:\n%s", got, tt.want, c.shape.leaves)
			}
		})
	}
}
