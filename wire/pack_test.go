package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// alike is the text of the n-th object of a template.
func alike(n, bulk int) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"app-%05d","namespace":"default","uid":"2b0a-%012d",`+
		`"resourceVersion":"%d","labels":{"app":"app-%05d"},"managedFields":[{"manager":"kanon","operation":"Update","apiVersion":"v1",`+
		`"fieldsType":"FieldsV1","fieldsV1":{"f:data":{},"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"9a-%d\"}":{}}}}}]},`+
		`"data":{"mode":"production","motto":"so that there is something to share","bulk":"%s","n":"%d"}}`,
		n, n, n*7, n, n, strings.Repeat("x", bulk), n)
}

func TestPack(t *testing.T) {
	t.Parallel()
	var p Packer
	for n := range 3 * manyAlike {
		text := alike(n, 0)
		object, err := Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		packed := p.Pack(object)
		if (n < manyAlike-1) != (packed == object) {
			t.Fatalf("object %d: packed: %t", n, packed != object)
		}
		if size := len(packed.content.data); packed != object && size > len(object.content.data)/3 {
			t.Errorf("object %d: %d bytes of %d are kept", n, size, len(object.content.data))
		}
		same(t, packed, object)
		if packed == object {
			continue
		}
		if again := p.Pack(packed); again != packed {
			t.Error("to pack it twice makes another object")
		}
		same(t, packed.Cut(), object.Cut())
		for _, size := range []int{len(object.content.data) - 1, len(object.content.data)} {
			if packed.Exceeds(size) != object.Exceeds(size) {
				t.Errorf("object %d has another size", n)
			}
		}
	}
}

// same fails the test unless two objects read the same.
func same(t *testing.T, got, want *Object) {
	t.Helper()
	if got.Namespace() != want.Namespace() || got.Name() != want.Name() || got.UID() != want.UID() || got.ResourceVersion() != want.ResourceVersion() ||
		got.APIVersion() != want.APIVersion() || got.Kind() != want.Kind() || got.IsWhole() != want.IsWhole() {
		t.Error("it is another object now")
	}
	if diff := cmp.Diff(want.Head().Object, got.Head().Object); diff != "" {
		t.Errorf("the head (-want +got):\n%s", diff)
	}
	if !want.IsWhole() {
		return
	}
	if diff := cmp.Diff(want.Tree().Object, got.Tree().Object); diff != "" {
		t.Errorf("the object (-want +got):\n%s", diff)
	}
}

// TestPackLeavesAlone holds which objects are not packed: those for which there is no dictionary, or that it would not
// make smaller.
func TestPackLeavesAlone(t *testing.T) {
	t.Parallel()
	read := func(text string) *Object {
		object, err := Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	var p Packer
	for n := range 2 * manyAlike {
		p.Pack(read(alike(n, 0)))
	}
	for name, object := range map[string]*Object{
		"none":                    nil,
		"a tree":                  Of(read(alike(1, 0)).Tree()),
		"too large":               read(alike(1, maxPacked)),
		"without managedFields":   read(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`),
		"of another template":     read(strings.Replace(alike(1, 0), `"f:data":{}`, `"f:data":{"f:n":{}}`, 1)),
		"with content of its own": read(strings.Replace(alike(1, 0), `"production"`, `"`+noise(4000)+`"`, 1)),
	} {
		if packed := p.Pack(object); packed != object {
			t.Errorf("%s: it is packed", name)
		}
	}
	for n := range 10 * maxTemplates {
		p.Pack(read(strings.Replace(alike(n, 0), `"f:data":{}`, fmt.Sprintf(`"f:data":{"f:%d":{}}`, n), 1)))
	}
	if len(p.templates) > maxTemplates {
		t.Errorf("%d templates are kept", len(p.templates))
	}
}

// noise is text that has nothing in common with any other.
func noise(size int) string {
	state, text := uint32(1), make([]byte, size)
	for i := range text {
		state = state*1664525 + 1013904223 // Knuth's "quick and dirty" generator
		text[i] = 'a' + byte(state>>24)%26
	}
	return string(text)
}

// FuzzPack packs any JSON object by the dictionary of others.
func FuzzPack(f *testing.F) {
	f.Add(alike(1, 0))
	f.Add(`{"kind":"ConfigMap","metadata":{"managedFields":[{"fieldsV1":{}}],"labels":{"é":"\u00e9\n"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		object, err := Decode([]byte(text))
		if err != nil || !json.Valid([]byte(text)) || len(object.paths) == 0 {
			t.Skip()
		}
		var p Packer
		p.dictionaryFor(object)
		template := p.templates[object.paths[0].before]
		template.seen = manyAlike - 1
		other, err := Decode([]byte(alike(3, 50)))
		if err != nil {
			t.Fatal(err)
		}
		other.paths = object.paths
		if p.dictionaryFor(other) == nil {
			t.Fatal("there is no dictionary")
		}
		same(t, p.Pack(object), object)
	})
}
