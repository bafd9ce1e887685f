package fieldset

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kanon.dev/kanon/engine/apply/applytest"
)

// TestShapes holds that a child comes out of a writer that knows many shapes as it comes out of one that knows none, and
// that objects share a shape only where their paths are the same.
func TestShapes(t *testing.T) {
	t.Parallel()
	replaced := func(old, text string) string {
		if !strings.Contains(fullThing, old) {
			t.Fatalf("%q is not in the object", old)
		}
		return strings.Replace(fullThing, old, text, 1)
	}
	tests := []struct {
		name, text, parent string
		shared             bool // with one that came before
	}{
		{"the first", fullThing, "uid-a", false},
		{"of another parent", fullThing, "uid-b", true},
		{"of none", fullThing, "", false},
		{"a value", replaced("replicas: 2", "replicas: 3"), "uid-a", true},
		{"a value without a decimal point", replaced("replicas: 2", "replicas: 2.5"), "uid-a", false},
		{"a name", replaced("name: child", "name: other"), "uid-c", true},
		{"an item of an atomic list", replaced("[k, l]", "[k, m]"), "uid-a", true},
		{"one item less in it", replaced("[k, l]", "[k]"), "uid-a", false},
		{"a key of a granular map", replaced("{key: value}", "{b: value}"), "uid-b", false},
		{"a key of a list map", replaced("port: 53", "port: 54"), "uid-a", false},
		{"a value in a list map", replaced("name: http", "name: https"), "uid-a", true},
		{"a field more", replaced("paused: false", "paused: false\n  limits: {cpu: a}"), "uid-a", false},
		{"something in what was empty", replaced("emptyDir: {}", "emptyDir: {medium: a}"), "uid-a", false},
		{"an item of a set", fullThing + "  finalizers: [a]\n", "uid-a", false},
		{"another item of a set", fullThing + "  finalizers: [b]\n", "uid-a", false},
		{"another owner", replaced("labels: {a: b}", "ownerReferences: [{apiVersion: v1, kind: A, name: a, uid: z}], labels: {a: b}"), "uid-a", false},
	}
	known := &Shapes{Seed: maphash.MakeSeed()}
	for _, tt := range tests {
		before := len(known.known.entries)
		got, gotPaths := desiredWith(t, known, tt.text, tt.parent)
		want, wantPaths := desiredWith(t, &Shapes{Seed: maphash.MakeSeed()}, tt.text, tt.parent)
		if more := len(known.known.entries) > before; more == tt.shared && tt.name != "another owner" {
			t.Errorf("%s: its shape is new: %t", tt.name, more)
		}
		if gotPaths != wantPaths {
			t.Errorf("%s: the hash of the paths is %s, want %s", tt.name, gotPaths, wantPaths)
		}
		set, err := got.Paths()
		if err != nil {
			t.Fatal(err)
		}
		leaves := &fieldpath.Set{}
		got.eachLeaf(func(path fieldpath.Path) { leaves.Insert(path.Copy()) })
		if !leaves.Equals(set.Leaves()) {
			t.Errorf("%s: the leaves are\n%s\nwant\n%s", tt.name, leaves, set.Leaves())
		}
		text, err := set.ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, entries := range []string{
			string(text), strings.Replace(string(text), `"f:replicas":{},`, "", 1), strings.Replace(string(text), `"f:kanon.dev/owner":{}`, "", 1),
			strings.Replace(string(text), `\"uid\":\"`+tt.parent, `\"uid\":\"other`, 1), "{}",
		} {
			entries = strings.ReplaceAll(entries, ",}", "}")
			live := applytest.WithManaged(got.Object, applytest.Managed(t, Manager, "Update", "test/v1", entries))
			for range 2 { // the second time by memory
				if got, want := got.uncovered(live), want.uncovered(live); !got.Equals(want) {
					t.Errorf("%s: %s does not cover\n%s\nwant\n%s", tt.name, entries, got, want)
				}
			}
		}
	}
}

// TestShapesAreBounded holds that what is remembered of shapes has an end.
func TestShapesAreBounded(t *testing.T) {
	t.Parallel()
	known := &Shapes{Seed: maphash.MakeSeed()}
	for i := range maxShapes + 10 {
		desiredWith(t, known, rendered+fmt.Sprintf("data: {k%d: v}\n", i), "")
	}
	if n := len(known.known.entries); n != maxShapes {
		t.Errorf("%d shapes are remembered, want %d", n, maxShapes)
	}
	s := &shape{}
	for i := range uint64(maxVerdicts + 10) {
		s.uncovered.put(i, nil, maxVerdicts)
	}
	if n := len(s.uncovered.entries); n > maxVerdicts {
		t.Errorf("%d verdicts are remembered", n)
	}
}

const fullThing = `
apiVersion: test/v1
kind: Thing
metadata: {name: child, namespace: ns, labels: {a: b}}
data: {key: value}
spec:
  replicas: 2
  paused: false
  args: [k, l]
  selector: {a: b}
  emptyDir: {}
  ports: [{port: 80, name: http}, {port: 53, protocol: UDP}]
`
