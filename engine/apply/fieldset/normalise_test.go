package fieldset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/applytest"
)

func TestNormalise(t *testing.T) {
	const thing, custom = "apiVersion: test/v1\nkind: Thing\n", "apiVersion: example.test/v1\nkind: Custom\n"
	tests := map[string]struct {
		in, want  string
		hasStatus bool
	}{
		"nulls go, nullable stays": {
			in:   thing + "spec: {replicas: null, nullable: null, paused: true}",
			want: thing + "spec: {nullable: null, paused: true}",
		},
		"nulls inside items of a list go": {
			in:   thing + "spec: {ports: [{port: 80, name: null}]}",
			want: thing + "spec: {ports: [{port: 80, protocol: TCP}]}",
		},
		"null items of a typed list go": {
			in:   thing + `spec: {args: [a, null, b]}`,
			want: thing + `spec: {args: [a, b]}`,
		},
		"null items of untyped data stay": {
			in:   thing + `spec: {free: {list: [a, null]}}`,
			want: thing + `spec: {free: {list: [a, null]}}`,
		},
		"a Go type drops empty lists and maps": {
			in:   thing + `spec: {args: [], ports: [], limits: {}, selector: {}, paused: false, replicas: 0}`,
			want: thing + `spec: {paused: false, replicas: 0}`,
		},
		"also those that nulls emptied": {
			in:   thing + `spec: {limits: {cpu: null}, args: [null], paused: true}`,
			want: thing + `spec: {paused: true}`,
		},
		"empty structs and untyped maps mean something": {
			in:   thing + `spec: {emptyDir: {}, free: {}}`,
			want: thing + `spec: {emptyDir: {}, free: {}}`,
		},
		"so does everything empty in a custom resource": {
			in:   custom + `spec: {args: [], ports: [], limits: {}, selector: {}, emptyDir: {}}`,
			want: custom + `spec: {args: [], ports: [], limits: {}, selector: {}, emptyDir: {}}`,
		},
		"but not in its metadata, which is a Go type": {
			in:   custom + `metadata: {name: a, labels: {}, annotations: {a: null}}`,
			want: custom + `metadata: {name: a}`,
		},
		"list keys are completed": {
			in:   custom + `spec: {ports: [{port: 80}, {port: 80, protocol: UDP}]}`,
			want: custom + `spec: {ports: [{port: 80, protocol: TCP}, {port: 80, protocol: UDP}]}`,
		},
		"metadata of the server's goes": {
			in: thing + `metadata: {name: a, uid: x, resourceVersion: "1", generation: 2, creationTimestamp: "2020-01-01T00:00:00Z",
			  managedFields: [{manager: x}], finalizers: [a/b]}`,
			want: thing + `metadata: {name: a, finalizers: [a/b]}`,
		},
		"status goes where it is a subresource": {
			in:   thing + `status: {a: 1}`,
			want: thing, hasStatus: true,
		},
		"status stays where it is none": {
			in:   thing + `status: {a: 1}`,
			want: thing + `status: {a: 1}`,
		},
		"without a schema nothing is known of what is empty": {
			in:   "apiVersion: v1\nkind: Unknown\nspec: {a: null, b: {}, c: [], d: [{}]}",
			want: "apiVersion: v1\nkind: Unknown\nspec: {b: {}, c: [], d: [{}]}",
		},
		"a Secret's text becomes data and wins": {
			in:   "apiVersion: v1\nkind: Secret\ndata: {a: eA==, b: eQ==}\nstringData: {b: new, c: null}",
			want: "apiVersion: v1\nkind: Secret\ndata: {a: eA==, b: bmV3}",
		},
		"stringData of another kind is its own": {
			in:   "apiVersion: other/v1\nkind: Secret\nstringData: {b: new}",
			want: "apiVersion: other/v1\nkind: Secret\nstringData: {b: new}",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := applytest.Object(t, tt.in)
			before := in.DeepCopy()
			k := kindOf(t, in)
			got := k.Normalise(in, tt.hasStatus)
			if diff := cmp.Diff(applytest.Object(t, tt.want).Object, got.Object); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(before.Object, in.Object); diff != "" {
				t.Errorf("the input was changed:\n%s", diff)
			}
			if diff := cmp.Diff(got.Object, k.Normalise(got, tt.hasStatus).Object); diff != "" {
				t.Errorf("normalising twice differs:\n%s", diff)
			}
		})
	}
}

func TestNormaliseSharesNothingWithItsInput(t *testing.T) {
	in := applytest.Object(t, "apiVersion: test/v1\nkind: Thing\nspec: {args: [a], free: {deep: [{x: 1}]}, ports: [{port: 1}]}")
	before := in.DeepCopy()
	k := kindOf(t, in)
	scribble(k.Normalise(in, false).Object)
	if diff := cmp.Diff(before.Object, in.Object); diff != "" {
		t.Errorf("writing to the result changed the input:\n%s", diff)
	}
}

// scribble overwrites every scalar and adds to every map.
func scribble(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, field := range v {
			scribble(field)
			if _, ok := field.(string); ok {
				v[key] = "scribbled"
			}
		}
		v["scribbled"] = true
	case []any:
		for i, item := range v {
			scribble(item)
			if _, ok := item.(string); ok {
				v[i] = "scribbled"
			}
		}
	}
}

func FuzzNormalise(f *testing.F) {
	f.Add(`{"spec":{"ports":[{"port":80},null,{}],"args":[null],"nullable":null,"free":{"a":[null,{}]}}}`)
	f.Add(`{"metadata":{"labels":null,"ownerReferences":[{"uid":"u"}]},"spec":[],"data":{"":null}}`)
	k, err := NewKind(applytest.ThingGVK(), applytest.Converter(f, applytest.Schemas), false)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in := &unstructured.Unstructured{}
		if err := in.UnmarshalJSON([]byte(text)); err != nil {
			in.Object = map[string]any{"spec": text}
		}
		in.SetGroupVersionKind(applytest.ThingGVK())
		once := k.Normalise(in, false)
		if diff := cmp.Diff(once.Object, k.Normalise(once, false).Object); diff != "" {
			t.Errorf("normalising twice differs:\n%s", diff)
		}
	})
}
