package wire

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// largeText is an object with a content of that many bytes.
func largeText(size int) string {
	return fmt.Sprintf(`{"kind":"ConfigMap","data":{"bulk":%q},"apiVersion":"v1",
		"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7","annotations":{"said":"a \"word\""},
			"managedFields":[{"manager":"m","operation":"Apply","fieldsV1":{"f:data":{"f:bulk":{}}}},{"manager":"o","fieldsV1":{"f:data":{}}}]},
		"immutable":true}`, strings.Repeat("x", size))
}

// memoryOf lists the texts that a value holds on to.
func memoryOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case map[string]any:
		var found []string
		for name, field := range v {
			found = append(append(found, name), memoryOf(field)...)
		}
		return found
	case []any:
		var found []string
		for _, item := range v {
			found = append(found, memoryOf(item)...)
		}
		return found
	default:
		return nil
	}
}

func within(part, whole string) bool {
	if part == "" {
		return false
	}
	start := uintptr(unsafe.Pointer(unsafe.StringData(whole)))
	at := uintptr(unsafe.Pointer(unsafe.StringData(part)))
	return at >= start && at < start+uintptr(len(whole))
}

// An object that was cut has the head of the whole one, and keeps nothing of the rest in memory, however it came.
func TestCut(t *testing.T) {
	t.Parallel()
	text := largeText(100_000)
	decoded, err := decode([]byte(text), typeMeta{})
	if err != nil {
		t.Fatal(err)
	}
	listed, err := decode([]byte(strings.Replace(text, `"kind":"ConfigMap",`, "", 1)), typeMeta{apiVersion: "v1", kind: "ConfigMap"})
	if err != nil {
		t.Fatal(err)
	}
	answered := decoded.Tree() // of which the texts are parts of the whole text
	for name, whole := range map[string]*Object{
		"decoded": decoded, "an item of a list": listed, "an answer": Of(answered),
		"without metadata": {typeMeta: decoded.typeMeta, content: content{data: `{"data":{"x":1}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cut := whole.Cut()
			if !whole.IsWhole() || cut.IsWhole() {
				t.Errorf("whole: %t, and %t when it is cut", whole.IsWhole(), cut.IsWhole())
			}
			if again := cut.Cut(); again != cut {
				t.Error("to cut it twice makes another object")
			}
			want := map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}
			if metadata, ok := whole.Head().Object["metadata"]; ok {
				want["metadata"] = metadata
			}
			if diff := cmp.Diff(want, cut.Head().Object); diff != "" {
				t.Errorf("the head (-want +got):\n%s", diff)
			}
			if cut.Namespace() != whole.Namespace() || cut.Name() != whole.Name() || cut.UID() != whole.UID() || cut.ResourceVersion() != whole.ResourceVersion() {
				t.Error("it is another one now")
			}
			if len(cut.content.data) > 1000 {
				t.Errorf("%d bytes are kept", len(cut.content.data))
			}
			kept := append(memoryOf(cut.Head().Object), cut.content.data, cut.namespace, cut.name, cut.uid, cut.version)
			for _, paths := range cut.paths {
				kept = append(kept, paths.before.Value(), paths.uid, paths.after.Value())
			}
			for _, part := range kept {
				if within(part, whole.content.data) || within(part, decoded.content.data) || within(part, text) {
					t.Errorf("%.40q is kept as a part of the whole text", part)
				}
			}
			for ask, read := range map[string]func() *unstructured.Unstructured{"Tree": cut.Tree, "Shared": cut.Shared} {
				if !panics(read) {
					t.Errorf("%s gives an object without its content", ask)
				}
			}
		})
	}
	if (*Object)(nil).Cut() != nil || !(*Object)(nil).IsWhole() {
		t.Error("no object was cut")
	}
}

func panics(read func() *unstructured.Unstructured) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	read()
	return false
}

func TestExceeds(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 100, 100_000} {
		object, err := Decode([]byte(largeText(size)))
		if err != nil {
			t.Fatal(err)
		}
		for name, o := range map[string]*Object{"text": object, "tree": Of(object.Tree())} {
			if got, want := o.Exceeds(16<<10), size > 16<<10; got != want {
				t.Errorf("%s with %d bytes exceeds 16 KiB: %t, want %t", name, size, got, want)
			}
			if o.Exceeds(size+2000) || size > 0 && !o.Exceeds(size) {
				t.Errorf("%s with %d bytes has another size", name, size)
			}
		}
	}
	paths := Of(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"managedFields": []any{map[string]any{"fieldsV1": map[string]any{strings.Repeat("f", 1000): map[string]any{}}}},
	}}})
	if paths.Exceeds(500) {
		t.Error("the paths of managedFields count")
	}
	if (*Object)(nil).Exceeds(0) {
		t.Error("no object has a size")
	}
}
