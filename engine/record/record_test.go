package record

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/rules/syntax"
)

var (
	boxes    = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Box"}
	crates   = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Crate"}
	services = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	secrets  = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	configs  = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
)

// full has everything that a record can have.
func full() Record {
	r := Record{
		Rule: "kanon/box", Origin: Origin{Namespace: "kanon", ConfigMap: "box"}, Finalizers: true,
		ConditionPrefix: "Box", Conditions: []string{"Lit"}, OnRuleDeletion: syntax.DeleteChildren, Blocked: &Blocked{Revision: "7a3d", Reason: "would delete 1 object", Objects: []string{"Service a/b"}, Message: "PruneHeld: …"},
		Report: &Report{Reason: "PruneHeld", Message: "PruneHeld: …"},
	}
	r.AddParent(crates)
	r.AddParent(boxes)
	r.AddChild(services)
	r.AddChild(configs)
	r.AddPatch("label", secrets)
	r.Permit("5f2c", map[schema.GroupVersionKind]bool{services: true}, []schema.GroupVersionKind{configs})
	return r
}

// The records of earlier versions are read by this one, and the other way round.
func TestFormat(t *testing.T) {
	t.Parallel()
	const text = `{"format":1,"rule":"kanon/box","origin":{"namespace":"kanon","configMap":"box"},"revision":"5f2c",` +
		`"parents":[{"group":"example.com","version":"v1","kind":"Crate"},{"group":"example.com","version":"v1","kind":"Box"}],` +
		`"children":[{"version":"v1","kind":"Service","revision":"5f2c"},{"version":"v1","kind":"ConfigMap","unseen":true}],` +
		`"holds":true,"patches":[{"id":"label","version":"v1","kind":"Secret"}],` +
		`"conditionPrefix":"Box","conditions":["Lit"],"onRuleDeletion":"Delete"}`
	keys, err := keyring.Generate()
	if err != nil {
		t.Fatal(err)
	}
	record := full()
	object, err := record.encode("kanon", "0c41", keys)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "kanon-state-0c41", "namespace": "kanon", "labels": map[string]any{"kanon.dev/state": "true"}},
		"data": map[string]any{
			"record": text, "held": "PruneHeld: …", "blocked": `{"revision":"7a3d","reason":"would delete 1 object","objects":["Service a/b"]}`, "report": `{"ready":false,"reason":"PruneHeld","message":"PruneHeld: …"}`, "seal": keys.Seal("record\x00kanon\x000c41\x00" + text),
		},
	}
	if diff := cmp.Diff(want, object.Object); diff != "" {
		t.Error(diff)
	}
	got, sealed, err := decode(object, keys)
	if err != nil || sealed != keyring.Current || !got.Equal(&record) {
		t.Errorf("%v %v\n%s", err, sealed, cmp.Diff(record, got))
	}
}

// Whoever may write ConfigMaps in Kanon's namespace cannot permit a deletion.
func TestSeal(t *testing.T) {
	t.Parallel()
	keys, err := keyring.Generate()
	if err != nil {
		t.Fatal(err)
	}
	next, err := keys.Rotate()
	if err != nil {
		t.Fatal(err)
	}
	others, err := keyring.Generate()
	if err != nil {
		t.Fatal(err)
	}
	record := full()
	distrusted := record.Clone()
	distrusted.Revision, distrusted.OnRuleDeletion, distrusted.Children[0].Revision = "", syntax.OrphanChildren, ""
	greeting := record.Clone()
	greeting.Blocked = &Blocked{Message: "hello"} // is for people
	for name, tt := range map[string]struct {
		read   *keyring.Keyring
		change func(*unstructured.Unstructured)
		want   *Record
		sealed keyring.Verdict
	}{
		"by the key that seals":         {read: keys, want: &record, sealed: keyring.Current},
		"by an older key":               {read: next, want: &record, sealed: keyring.Outdated},
		"by a key that is not known":    {read: others, want: &distrusted, sealed: keyring.Unknown},
		"of another text":               {read: keys, change: edit("record", `"holds":true,`, `"holds":true, `), want: &distrusted},
		"of another rule":               {read: keys, change: func(object *unstructured.Unstructured) { object.SetName("kanon-state-beef") }, want: &distrusted},
		"of another namespace":          {read: keys, change: func(object *unstructured.Unstructured) { object.SetNamespace("kanon-2") }, want: &distrusted},
		"none":                          {read: keys, change: unseal, want: &distrusted},
		"with another message":          {read: keys, change: onlyMessage("hello"), want: &greeting, sealed: keyring.Current},
		"no JSON":                       {read: keys, change: edit("record", "{", "")},
		"no text, as in a mere copycat": {read: keys, change: func(object *unstructured.Unstructured) { delete(object.Object, "data") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object, err := record.encode("kanon", "0c41", keys)
			if err != nil {
				t.Fatal(err)
			}
			if tt.change != nil {
				tt.change(object)
			}
			got, sealed, err := decode(object, tt.read)
			if tt.want == nil {
				if err == nil {
					t.Errorf("no error, but %+v", got)
				}
				return
			}
			if err != nil || sealed != tt.sealed || !got.Equal(tt.want) {
				t.Errorf("%v, seal %v, want %v\n%s", err, sealed, tt.sealed, cmp.Diff(*tt.want, got))
			}
		})
	}
}

// onlyMessage leaves another message of what is blocked.
func onlyMessage(message string) func(*unstructured.Unstructured) {
	return func(object *unstructured.Unstructured) {
		unstructured.RemoveNestedField(object.Object, "data", "blocked")
		edit("held", "PruneHeld: …", message)(object)
	}
}

func unseal(object *unstructured.Unstructured) {
	unstructured.RemoveNestedField(object.Object, "data", "seal")
}

// edit replaces the first occurrence of a text in the data.
func edit(key, before, after string) func(*unstructured.Unstructured) {
	return func(object *unstructured.Unstructured) {
		text, _, _ := unstructured.NestedString(object.Object, "data", key)
		_ = unstructured.SetNestedField(object.Object, strings.Replace(text, before, after, 1), "data", key)
	}
}

func TestPermission(t *testing.T) {
	t.Parallel()
	kinds := func(of ...schema.GroupVersionKind) []schema.GroupVersionKind { return of }
	for name, tt := range map[string]struct {
		// known are the kinds of the record before the permission, which is given to the revision "one" with these arguments.
		known   []schema.GroupVersionKind
		dropped map[schema.GroupVersionKind]bool
		absent  []schema.GroupVersionKind
		// The question afterwards.
		revision          string
		children, retired []schema.GroupVersionKind
		want              bool
		// left are the kinds of the record then.
		left []schema.GroupVersionKind
	}{
		"the revision": {
			known: kinds(configs), revision: "one", children: kinds(configs), want: true, left: kinds(configs),
		},
		"another revision": {
			known: kinds(configs), revision: "two", children: kinds(configs), left: kinds(configs),
		},
		"a dropped kind of which objects are left": {
			known: kinds(configs, services), dropped: map[schema.GroupVersionKind]bool{services: true},
			revision: "one", children: kinds(configs), retired: kinds(services), want: true, left: kinds(configs, services),
		},
		"a dropped kind of which nothing is left is forgotten": {
			known: kinds(configs, services), dropped: map[schema.GroupVersionKind]bool{services: false},
			revision: "one", children: kinds(configs), retired: kinds(services), want: true, left: kinds(configs),
		},
		"a dropped kind that the permission was not about": {
			known: kinds(configs, services), absent: kinds(services),
			revision: "one", children: kinds(configs), retired: kinds(services), left: kinds(configs, services),
		},
		"a kind that the cluster did not have then, and has now": {
			known: kinds(configs, services), absent: kinds(services),
			revision: "one", children: kinds(configs, services), left: kinds(configs, services),
		},
		"a kind that the cluster still lacks": {
			known: kinds(configs, services), absent: kinds(services),
			revision: "one", children: kinds(configs), want: true, left: kinds(configs, services),
		},
		"a kind of which the record knows nothing": {
			known: kinds(configs), revision: "one", children: kinds(configs, secrets), retired: kinds(services), want: true, left: kinds(configs),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r Record
			for _, gvk := range tt.known {
				r.AddChild(gvk)
			}
			r.Permit("one", tt.dropped, tt.absent)
			if got := r.Permits(tt.revision, slices.Values(tt.children), slices.Values(tt.retired)); got != tt.want {
				t.Errorf("permits: %t, want %t", got, tt.want)
			}
			var left []schema.GroupVersionKind
			for _, kind := range r.Children {
				left = append(left, kind.GVK())
			}
			if diff := cmp.Diff(tt.left, left); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A second permission is about what is missing now.
func TestPermissionOnceAKindIsBack(t *testing.T) {
	t.Parallel()
	var r Record
	r.AddChild(services)
	r.Permit("one", nil, []schema.GroupVersionKind{services})
	r.Permit("one", nil, nil)
	if children := maps.Keys(map[schema.GroupVersionKind]bool{services: true}); !r.Permits("one", children, slices.Values([]schema.GroupVersionKind(nil))) {
		t.Error("the permission is not about the kind, which exists")
	}
}

// A kind of parents that comes back is the present one.
func TestParents(t *testing.T) {
	t.Parallel()
	var r Record
	for _, gvk := range []schema.GroupVersionKind{boxes, crates, boxes, boxes} {
		r.AddParent(gvk)
	}
	if want := []Kind{kindOf(crates), kindOf(boxes)}; !slices.Equal(r.Parents, want) {
		t.Errorf("%v, want %v", r.Parents, want)
	}
}
