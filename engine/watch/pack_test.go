package watch

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/s2"
)

// sibling is the text of the n-th object of a template.
func sibling(n, bulk int) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"app-%05d","namespace":"default","uid":"2b0a-%012d",`+
		`"resourceVersion":"%d","labels":{"app":"app-%05d"},"managedFields":[{"manager":"kanon","operation":"Update","apiVersion":"v1",`+
		`"fieldsType":"FieldsV1","fieldsV1":{"f:data":{},"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"9a-%d\"}":{}}}}}]},`+
		`"data":{"mode":"production","motto":"so that there is something to share","bulk":"%s","n":"%d"}}`,
		n, n, n*7, n, n, strings.Repeat("x", bulk), n)
}

func read(t *testing.T, text string) *Object {
	t.Helper()
	object, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func TestPack(t *testing.T) {
	t.Parallel()
	var p Packer
	for n := range 2 * manyAlike {
		object := read(t, sibling(n, 0))
		packed := p.Pack(object)
		if (n < manyAlike) != (packed == object) {
			t.Fatalf("object %d: packed: %t", n, packed != object)
		}
		if packed == object {
			continue
		}
		if size := len(packed.content.data); size > len(object.content.data)/3 {
			t.Errorf("object %d: %d bytes of %d are kept", n, size, len(object.content.data))
		}
		if got, want := packed.content.text(), object.content.text(); got != want {
			t.Errorf("object %d is read as\n%s\nand is\n%s", n, got, want)
		}
		same(t, packed, object)
		if again := p.Pack(packed); again != packed {
			t.Error("to pack it twice makes another object")
		}
	}
}

// same fails the test unless two objects read the same.
func same(t *testing.T, got, want *Object) {
	t.Helper()
	if got.Namespace() != want.Namespace() || got.Name() != want.Name() || got.UID() != want.UID() || got.ResourceVersion() != want.ResourceVersion() ||
		got.APIVersion() != want.APIVersion() || got.Kind() != want.Kind() {
		t.Error("it is another object now")
	}
	if diff := cmp.Diff(want.Head().Object, got.Head().Object); diff != "" {
		t.Errorf("the head (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Tree().Object, got.Tree().Object); diff != "" {
		t.Errorf("the object (-want +got):\n%s", diff)
	}
}

// TestPackLeavesAlone holds which objects are not packed: those for which there is no dictionary, or that it would not
// make smaller.
func TestPackLeavesAlone(t *testing.T) {
	t.Parallel()
	var p Packer
	for n := range 2 * manyAlike {
		p.Pack(read(t, sibling(n, 0)))
	}
	if object := read(t, sibling(1, 0)); p.Pack(object) == object {
		t.Fatal("nothing is packed")
	}
	for name, object := range map[string]*Object{
		"none":                    nil,
		"a tree":                  Of(read(t, sibling(1, 0)).Tree()),
		"too large":               read(t, sibling(1, maxPacked)),
		"without managedFields":   read(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`),
		"of another template":     read(t, withPaths(1, "other")),
		"with one more manager":   read(t, strings.Replace(sibling(1, 0), `"managedFields":[`, `"managedFields":[{"manager":"other","fieldsV1":{"f:data":{}}},`, 1)),
		"with a manager after":    read(t, strings.Replace(sibling(1, 0), `}}}}}]}`, `}}}}},{"manager":"other","fieldsV1":{"f:data":{}}}]}`, 1)),
		"with content of its own": read(t, withContent(1, noise(1, 4000))),
	} {
		if packed := p.Pack(object); packed != object {
			t.Errorf("%s: it is packed", name)
		}
	}
}

// TestPackAmongOthers holds that a template gets its dictionary though many others come meanwhile that have one object each.
func TestPackAmongOthers(t *testing.T) {
	t.Parallel()
	var p Packer
	packed := 0
	for n := range 2 * manyAlike {
		object := read(t, sibling(n, 0))
		if p.Pack(object) != object {
			packed++
		}
		p.Pack(read(t, withPaths(n, fmt.Sprint(n))))
	}
	if packed != manyAlike {
		t.Errorf("%d of %d are packed", packed, 2*manyAlike)
	}
}

// TestPackFollows holds that a template whose texts have changed gets another dictionary, and that those of which there are
// few are forgotten when there are too many.
func TestPackFollows(t *testing.T) {
	t.Parallel()
	var p Packer
	isPacked := func(text string) bool {
		object := read(t, text)
		packed := p.Pack(object)
		same(t, packed, object)
		return packed != object
	}
	for revision := range 3 {
		content := noise(revision, 4000)
		for n := range manyAlike {
			if isPacked(withContent(n, content)) {
				t.Fatalf("revision %d is packed with the dictionary of the one before", revision)
			}
		}
		if !isPacked(withContent(manyAlike, content)) {
			t.Errorf("revision %d is not packed", revision)
		}
	}
	for n := range 5 * maxTemplates {
		isPacked(withPaths(n, fmt.Sprint(n)))
		if len(p.templates) > maxTemplates {
			t.Fatalf("%d templates are kept", len(p.templates))
		}
	}
	if !isPacked(withContent(1, noise(2, 4000))) {
		t.Error("templates of one object each have displaced one of many")
	}
	for n := range (maxTemplates + 1) * (manyAlike + 1) {
		isPacked(withPaths(n, fmt.Sprint(n/(manyAlike+1))))
	}
	if len(p.templates) > maxTemplates {
		t.Errorf("%d templates are kept", len(p.templates))
	}
}

func TestPackTogether(t *testing.T) {
	t.Parallel()
	var p Packer
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for n := range 3 * manyAlike {
				object, err := Decode([]byte(sibling(n, 0)))
				if err != nil {
					t.Error(err)
					return
				}
				same(t, p.Pack(object), object)
			}
		})
	}
	all.Wait()
	if object := read(t, sibling(1, 0)); p.Pack(object) == object {
		t.Error("nothing is packed")
	}
}

// withPaths is the text of an object of another template.
func withPaths(n int, field string) string {
	return strings.Replace(sibling(n, 0), `"f:data":{}`, `"f:data":{"f:`+field+`":{}}`, 1)
}

// withContent is the text of an object with other content.
func withContent(n int, content string) string {
	return strings.Replace(sibling(n, 0), `"production"`, `"`+content+`"`, 1)
}

// noise is text that has nothing in common with that of another seed.
func noise(seed, size int) string {
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	text := make([]byte, size)
	for i := range text {
		text[i] = 'a' + byte(random.IntN(26))
	}
	return string(text)
}

// FuzzPack packs any text by the dictionary of any other.
func FuzzPack(f *testing.F) {
	f.Add(sibling(1, 0), sibling(2, 0))
	f.Add(sibling(1, 0), "x")
	f.Add(strings.Repeat("xyz", 20), sibling(2, 100))
	f.Fuzz(func(t *testing.T, of, text string) {
		long := of + strings.Repeat(".", s2.MinDictSize)
		c := packedBy(s2.MakeDict([]byte(long), nil), text)
		if got := c.text(); got != text {
			t.Errorf("%q is read as %q", text, got)
		}
	})
}
