package watch

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

func TestAppendJSON(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		nil, true, false, int64(math.MinInt64), 1.5, 1e21, 1e-7, 3.0, "", "plain", `a "quoted" \ text`, "<a href=\"x\">&</a>", "caf\u00e9\u2028\n\t\x01\x7f", "\xff",
		map[string]any(nil), []any(nil),
		map[string]any{},
		[]any{},
		int(3), uint8(4), json.Number("5"),
		[]string{"a"},
		map[string]any{"b": []any{int64(1), "x", nil, map[string]any{"é": "<"}}, "a": map[string]any{"z": false, "": 0.1}, "a<b": true},
		map[string]any{"1": nil, "2": nil, "3": nil, "4": nil, "5": nil, "6": nil, "7": nil, "8": nil, "9": nil, "10": nil, "11": nil, "12": nil, "13": nil, "14": nil, "15": nil, "16": nil, "17": nil, "18": nil},
	} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := AppendJSON([]byte("before "), v); err != nil || string(got) != "before "+string(want) {
			t.Errorf("%#v is written as %s (%v), want %s", v, got, err, want)
		}
	}
	for _, v := range []any{math.NaN(), map[string]any{"a": []any{math.Inf(1)}}} {
		if got, err := AppendJSON(nil, v); err == nil {
			t.Errorf("%v is written as %s", v, got)
		}
	}
}

func FuzzAppendJSON(f *testing.F) {
	f.Add([]byte(service))
	f.Add([]byte(`{"a":[1,-2.5e3,"\ud83d\ude00\ud800","` + "\xff" + `<&>"],"":{"b":null,"\n":true}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if utiljson.Unmarshal(data, &v) != nil {
			return
		}
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := AppendJSON(nil, v); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is written as %s (%v)", want, got, err)
		}
	})
}

// What a client sends is what client-go's own would.
func TestEncode(t *testing.T) {
	t.Parallel()
	usual := dynamic.ConfigFor(&rest.Config{}).NegotiatedSerializer
	encode := func(serializer runtime.NegotiatedSerializer, obj runtime.Object) string {
		t.Helper()
		info, ok := runtime.SerializerInfoForMediaType(serializer.SupportedMediaTypes(), runtime.ContentTypeJSON)
		if !ok {
			t.Fatal("JSON is not among the media types")
		}
		var b strings.Builder
		if err := info.Serializer.Encode(obj, &b); err != nil {
			return "error"
		}
		return strings.TrimSuffix(b.String(), "\n")
	}
	tree := &unstructured.Unstructured{}
	if err := tree.UnmarshalJSON([]byte(service)); err != nil {
		t.Fatal(err)
	}
	for _, obj := range []runtime.Object{tree, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1"}}} {
		want := encode(usual, obj)
		for range 2 {
			if got := encode(negotiatedBy(usual, false), obj); got != want {
				t.Errorf("sent is %s, want %s", got, want)
			}
		}
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	tree := &unstructured.Unstructured{}
	if err := tree.UnmarshalJSON([]byte(service)); err != nil {
		b.Fatal(err)
	}
	b.Run("wire", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := AppendJSON(nil, tree.Object); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(tree.Object); err != nil {
				b.Fatal(err)
			}
		}
	})
}
