package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	restwatch "k8s.io/client-go/rest/watch"
)

const service = `{
  "kind": "Service", "apiVersion": "v1",
  "metadata": {
    "name": "shop", "namespace": "team-a", "uid": "0b5c", "resourceVersion": "17", "generation": 1,
    "labels": {"app": "shop", "naïve": "caf\u00e9 \"x\"\n"},
    "annotations": {},
    "managedFields": [
      {"manager": "kanon", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
       "fieldsV1": {"f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}}},
      {"manager": "other", "operation": "Apply", "apiVersion": "v1", "subresource": "status", "fieldsType": "FieldsV1", "fieldsV1": {}}
    ]
  },
  "spec": {"ports": [{"port": 80, "weight": 1.5, "max": 9223372036854775808, "min": -3, "tiny": 1e-7, "zero": -0}], "none": null, "empty": [], "open": true, "shut": false}
}`

// plain decodes as client-go does, with the paths of managedFields as text.
func plain(t *testing.T, data []byte) map[string]any {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	entries, _, _ := unstructured.NestedSlice(obj.Object, "metadata", "managedFields")
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		paths, err := json.Marshal(entry["fieldsV1"])
		if err != nil {
			t.Fatal(err)
		}
		entry["fieldsV1"] = string(paths)
	}
	if entries != nil {
		if err := unstructured.SetNestedSlice(obj.Object, entries, "metadata", "managedFields"); err != nil {
			t.Fatal(err)
		}
	}
	return obj.Object
}

func compacted(t *testing.T, data string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(data)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// answered is the object in the answer to a request.
func answered(t *testing.T, data []byte) *unstructured.Unstructured {
	t.Helper()
	tree := &unstructured.Unstructured{}
	if _, _, err := (objects{Serializer: refusing{}}).Decode(bytes.Clone(data), nil, tree); err != nil {
		t.Fatalf("%q is refused as an answer: %v", data, err)
	}
	return tree
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, data := range [][]byte{[]byte(service), compacted(t, service)} {
		object, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		tree := object.Tree()
		if diff := cmp.Diff(tree.Object, answered(t, data).Object); diff != "" {
			t.Errorf("an answer differs (-want +got):\n%s", diff)
		}
		for _, e := range tree.Object["metadata"].(map[string]any)["managedFields"].([]any) { // which is text as it came
			entry := e.(map[string]any)
			entry["fieldsV1"] = string(compacted(t, entry["fieldsV1"].(string)))
		}
		if diff := cmp.Diff(plain(t, data), tree.Object); diff != "" {
			t.Errorf("the tree differs from client-go's (-want +got):\n%s", diff)
		}
		head := object.Head()
		if len(head.Object) != 3 || head.GetLabels()["app"] != "shop" || head.GetKind() != "Service" || head.GetAPIVersion() != "v1" {
			t.Errorf("the head is %v", head.Object)
		}
		got := []string{object.APIVersion(), object.Kind(), object.Namespace(), object.Name(), string(object.UID()), object.ResourceVersion()}
		if diff := cmp.Diff([]string{"v1", "Service", "team-a", "shop", "0b5c", "17"}, got); diff != "" {
			t.Errorf("the identity differs (-want +got):\n%s", diff)
		}
		if strings.Contains(object.content.data, "f:ports") {
			t.Error("the text still has paths")
		}
	}
}

// Whoever changes what it was given changes nothing for others.
func TestTreesAreNotShared(t *testing.T) {
	t.Parallel()
	object, err := Decode([]byte(service))
	if err != nil {
		t.Fatal(err)
	}
	want := object.Tree().DeepCopy()
	shared, head := object.Shared(), object.Head()
	if object.Shared() != shared || object.Head() != head {
		t.Error("two readers at a time are given two trees")
	}
	runtime.KeepAlive(head)
	tree := object.Tree()
	tree.SetName("another")
	tree.SetLabels(nil)
	delete(tree.Object, "spec")
	if diff := cmp.Diff(want.Object, shared.Object); diff != "" {
		t.Errorf("what is shared changed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Object, object.Tree().Object); diff != "" {
		t.Errorf("the object changed (-want +got):\n%s", diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, data := range []string{
		``, `null`, `[]`, `{`, `{"kind":"A"`, `{"kind":"A"} x`, `{"kind":1}`, `{"kind":"A",}`, `{"kind":"A" "b":1}`, `{}`,
		`{"kind":"A","x":01}`, `{"kind":"A","x":1.}`, `{"kind":"A","x":-}`, `{"kind":"A","x":1e999}`, `{"kind":"A","x":tru}`,
		`{"kind":"A","x":"\q"}`, `{"kind":"A","x":"\u12"}`, "{\"kind\":\"A\",\"x\":\"\n\"}", `{"kind":"A","x":[1,]}`, `{"kind":"A","x":[1}`,
		`{"kind":"A","metadata":{"managedFields":[{"fieldsV1":3}]}}`, `{"kind":"A","metadata":{"managedFields":[3]}}`,
		`{"kind":"A","metadata":{"managedFields":[{"fields\u00561":3}]}}`,
		`{"kind":"A","metadata":{"name":3}}`, `{"kind":"A","x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
	} {
		if object, err := Decode([]byte(data)); err == nil {
			t.Errorf("%.60s was read as %v", data, object.Tree().Object)
		}
		data = strings.Replace(data, `"kind":"A"`, `"kind":"A","apiVersion":"v1"`, 1)
		if _, _, err := (objects{Serializer: refusing{}}).Decode([]byte(data), nil, &unstructured.Unstructured{}); err == nil {
			t.Errorf("the answer %.60s was not left to client-go", data)
		}
	}
}

// What an object is marked with is compared without decoding it, also of what is packed or cut.
func TestSameMarking(t *testing.T) {
	t.Parallel()
	made := func(metadata, content string) *Object {
		object, err := Decode(fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n","uid":"u",%s,`+
			`"managedFields":[{"manager":"m","fieldsV1":{"f:data":{}}}]},"data":{"text":%q}}`, metadata, content))
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	var packer Packer
	packed := made(`"labels":{"a":"b"}`, strings.Repeat("word ", 100))
	for range manyAlike + 1 {
		packed = packer.Pack(made(`"labels":{"a":"b"}`, strings.Repeat("word ", 100)))
	}
	if packed.content.dictionary == nil {
		t.Fatal("nothing is packed")
	}
	object := made(`"labels":{"a":"b"}`, "x")
	for name, test := range map[string]struct {
		other *Object
		want  bool
	}{
		"other content":         {made(`"generation":2,"labels":{"a":"b"}`, "y"), true},
		"packed":                {packed, true},
		"other labels":          {made(`"labels":{"a":"c"}`, "x"), false},
		"annotations":           {made(`"labels":{"a":"b"},"annotations":{"a":"b"}`, "x"), false},
		"the same as another":   {made(`"annotations":{"a":"b"}`, "x"), false},
		"an owner":              {made(`"labels":{"a":"b"},"ownerReferences":[{"uid":"o"}]`, "x"), false},
		"an escaped key":        {made(`"labels":{"a":"b"},"annot\u0061tions":{"a":"b"}`, "x"), false},
		"another object's":      {made(`"labels":{"a":"b"},"uid":"v"`, "x"), false},
		"nothing":               {nil, false},
		"an object out of view": {object.Stub(), false},
		"a tree":                {Of(object.Tree()), false},
	} {
		if got := object.SameMarking(test.other); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if made(`"labels":{"a":"b"},"labels":{"a":"c"}`, "x").SameMarking(made(`"labels":{"a":"c"},"labels":{"a":"b"}`, "x")) {
		t.Error("of two fields with one name, the first counts")
	}
	if plain := made(`"generation":1`, "x"); plain.SameMarking(plain) {
		t.Error("an object without any of these counts as known")
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		service, `{"kind":"A","apiVersion":"v1","a":[1,-2.5e3,"\ud83d\ude00\ud800","` + "\xff" + `"],"a":{"b":null}}`,
		`{"kind":"A","metadata":null}`, `{"kind":"A","metadata":{"managedFields":[{"fieldsV1":null},{}],"name":null}}`,
		`{"kind":"A","metadata":{"name":"a","name":"b"},"kind":"B"}`, `{"kind":"A","metadata":{"name":"a","name":null}}`, `{"kind":"A","metadata":[{"name":"a"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Add([]byte(`{"kind":"A","apiVersion":"v1","metadata":{"managedFields":[{"fields\u00561":3}]}}`))
	f.Add([]byte(`{"kind":"A","\u0061piVersion":"v1","met\u0061data":{"n\u0061me":"a","managedFields":[{"fields\u00561":{"f:a":{}}}]}}`))
	f.Add([]byte(`{"kind":"A","apiVersion":"v1","metadata":{"name":"a","uid":"b","labels":{"a":"b"}},"metadata":{}}`))
	f.Add([]byte(`{"kind":"A","a":"\"\\\/\b\f\n\r\t","b":"x\n\u00e9","\n":"` + "\xff\\n" + `"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		object, err := Decode(data)
		if err != nil {
			return
		}
		other := &unstructured.Unstructured{}
		if err := other.UnmarshalJSON(data); err != nil {
			t.Fatalf("%q was read, which client-go refuses: %v", data, err)
		}
		want, got := other.Object, asRead(t, object.Tree())
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: the tree differs from client-go's (-want +got):\n%s", data, diff)
		}
		identity := []string{object.APIVersion(), object.Kind(), object.Namespace(), object.Name(), string(object.UID()), object.ResourceVersion()}
		if diff := cmp.Diff([]string{
			other.GetAPIVersion(), other.GetKind(), other.GetNamespace(), other.GetName(), string(other.GetUID()), other.GetResourceVersion(),
		}, identity); diff != "" {
			t.Fatalf("%q: the identity differs (-want +got):\n%s", data, diff)
		}
		if object.APIVersion() != "" {
			if diff := cmp.Diff(object.Tree().Object, answered(t, data).Object); diff != "" {
				t.Fatalf("%q: an answer differs (-want +got):\n%s", data, diff)
			}
		}
		maps.DeleteFunc(want, func(name string, _ any) bool { return name != "apiVersion" && name != "kind" && name != "metadata" })
		if _, ok := want["metadata"].(map[string]any); !ok {
			delete(want, "metadata") // which no object of an API server has so, and no head has
		}
		if diff := cmp.Diff(want, asRead(t, object.Head())); diff != "" {
			t.Fatalf("%q: the head differs from client-go's (-want +got):\n%s", data, diff)
		}
	})
}

// asRead is a copy of an object with the paths of managedFields as client-go reads them.
func asRead(t *testing.T, object *unstructured.Unstructured) map[string]any {
	t.Helper()
	fields := object.DeepCopy().Object
	metadata, _ := fields["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		text, isText := entry["fieldsV1"].(string)
		if !isText {
			continue
		}
		var paths any
		if err := utiljson.Unmarshal([]byte(text), &paths); err != nil {
			t.Fatal(err)
		}
		entry["fieldsV1"] = paths
	}
	return fields
}

// watched reads a stream as client-go's watches do.
func watched(t *testing.T, stream io.Reader) []string {
	t.Helper()
	config := dynamic.ConfigFor(&rest.Config{})
	info := negotiatedBy(config.NegotiatedSerializer, false).SupportedMediaTypes()[0]
	frames := info.StreamSerializer.NewFrameReader(io.NopCloser(stream))
	decoder := restwatch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), info.Serializer)
	var seen []string
	for {
		kind, object, err := decoder.Decode()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				seen = append(seen, err.Error())
			}
			return seen
		}
		switch object := object.(type) {
		case *unstructured.Unstructured:
			size := len(fmt.Sprint(object.Object["data"]))
			seen = append(seen, fmt.Sprintf("%s %s %s %d", kind, object.GetKind(), object.GetName(), size))
		case *metav1.Status:
			seen = append(seen, fmt.Sprintf("%s %s", kind, object.Message))
		default:
			seen = append(seen, fmt.Sprintf("%T", object))
		}
	}
}

func TestWatchOfObjects(t *testing.T) {
	t.Parallel()
	var stream strings.Builder
	want := []string{}
	for i, size := range []int{10, 100, 1000, 5000, 100_000, 3} {
		fmt.Fprintf(&stream, `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"n%d"},"data":"%s{\"\\"}}`, i, strings.Repeat("é", size))
		if i%2 == 0 {
			stream.WriteString("\n")
		}
		want = append(want, fmt.Sprintf(`ADDED ConfigMap n%d %d`, i, 2*size+len(`{"\`)))
	}
	stream.WriteString(`{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"more"}} , "and":{"more":1}}`)
	stream.WriteString(`{"object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"turned"}},"type":"DELETED"}`)
	want = append(want, "MODIFIED ConfigMap more 5", "DELETED ConfigMap turned 5")
	stream.WriteString(`{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"9"}}}` + "\n")
	stream.WriteString(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","code":410}}` + "\n\n")
	want = append(want, "BOOKMARK ConfigMap  5", "ERROR too old")
	for name, reader := range map[string]io.Reader{
		"at once":         strings.NewReader(stream.String()),
		"byte by byte":    iotest.OneByteReader(strings.NewReader(stream.String())),
		"with the end":    iotest.DataErrReader(strings.NewReader(stream.String())),
		"in small pieces": iotest.HalfReader(strings.NewReader(stream.String())),
	} {
		if diff := cmp.Diff(want, watched(t, reader)); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
	cut := watched(t, strings.NewReader(stream.String()[:50]))
	if len(cut) != 1 || !strings.Contains(cut[0], io.ErrUnexpectedEOF.Error()) {
		t.Errorf("a stream that is cut gives %q", cut)
	}
}

// refusing is a serializer that decodes nothing.
type refusing struct{ kruntime.Serializer }

func (refusing) Decode(data []byte, _ *schema.GroupVersionKind, _ kruntime.Object) (kruntime.Object, *schema.GroupVersionKind, error) {
	return nil, nil, fmt.Errorf("left to client-go: %q", data)
}

// The API server ends each event with a newline. client-go's reader of an event's envelope takes many times as long as ours,
// so no event that the API server writes may be left to it.
func TestEventsNeedNoSlowReader(t *testing.T) {
	t.Parallel()
	event := `{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"n"}}}` + "\n"
	stream := framer{}.NewFrameReader(io.NopCloser(strings.NewReader(event + "\n" + event + event)))
	decoder := streaming.NewDecoder(stream, events{refusing{}})
	for i := range 3 {
		var got metav1.WatchEvent
		if _, _, err := decoder.Decode(nil, &got); err != nil || got.Type != "MODIFIED" {
			t.Errorf("event %d: %+v, %v", i, got, err)
		}
	}
}

func TestAccessor(t *testing.T) {
	t.Parallel()
	object, err := Decode([]byte(service))
	if err != nil {
		t.Fatal(err)
	}
	if kind := object.GetObjectKind().GroupVersionKind().Kind; kind != "Service" {
		t.Errorf("its kind is %q", kind)
	}
	meta := object.GetObjectMeta()
	if meta.GetName() != "shop" || meta.GetUID() != "0b5c" {
		t.Errorf("its metadata is %v", meta)
	}
	var nobody *Object
	if nobody.Tree() != nil || nobody.Head() != nil || nobody.Name() != "" || nobody.Kind() != "" {
		t.Error("no object has something")
	}
	tree := object.Tree()
	if other := Of(tree); other.Tree() != tree || other.UID() != "0b5c" || Of(nil) != nil {
		t.Error("a tree is not what it was")
	}
	var _ kruntime.Object = object
	_ = watch.Event{Object: object}
}

func BenchmarkDecode(b *testing.B) {
	var small bytes.Buffer
	if err := json.Compact(&small, []byte(service)); err != nil {
		b.Fatal(err)
	}
	data := small.Bytes()
	b.Run("text", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Decode(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tree", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			object, err := Decode(data)
			if err != nil {
				b.Fatal(err)
			}
			object.Tree()
		}
	})
	b.Run("answer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := (objects{}).Decode(data, nil, &unstructured.Unstructured{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("client-go", func(b *testing.B) {
		b.ReportAllocs()
		serializer := dynamic.ConfigFor(&rest.Config{}).NegotiatedSerializer.SupportedMediaTypes()[0].Serializer
		for b.Loop() {
			if _, _, err := serializer.Decode(data, nil, &unstructured.Unstructured{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
