package kanontest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDifferences(t *testing.T) {
	const live = `
apiVersion: v1
kind: Thing
metadata: {name: it, uid: abc}
status:
  conditions: [{type: Ready, status: "True", reason: Fine}, {type: Synced, status: "False"}]
spec:
  replicas: 3
  tags: [a, b]
  ports: [{name: http, port: 80, protocol: TCP}]
`
	tests := map[string]struct {
		spec string
		want []string
	}{
		"everything":       {`{replicas: 3, tags: [a, b], ports: [{name: http, port: 80, protocol: TCP}]}`, nil},
		"a part":           {`{ports: [{port: 80}]}`, nil},
		"nothing":          {`{}`, nil},
		"another value":    {`{replicas: 4}`, []string{`.spec.replicas: want 4, is 3`}},
		"another type":     {`{replicas: "3"}`, []string{`.spec.replicas: want "3", is 3`}},
		"a missing field":  {`{paused: true}`, []string{`.spec.paused: want true, is not there`}},
		"a shorter list":   {`{tags: [a]}`, []string{`.spec.tags: want ["a"], is ["a","b"]`}},
		"another order":    {`{tags: [b, a]}`, []string{`.spec.tags[0]: want "b", is "a"`, `.spec.tags[1]: want "a", is "b"`}},
		"deep in a list":   {`{ports: [{name: http, port: 81}]}`, []string{`.spec.ports[0].port: want 81, is 80`}},
		"no such field":    {`{paused: null}`, nil},
		"a field too many": {`{replicas: null}`, []string{`.spec.replicas: want none, is 3`}},
		"conditions":       {`{}, status: {conditions: [{type: Synced, status: "False"}]}`, nil},
		"a condition":      {`{}, status: {conditions: [{type: Synced, status: "True"}]}`, []string{`.status.conditions[Synced].status: want "True", is "False"`}},
		"no condition":     {`{}, status: {conditions: [{type: Stalled}]}`, []string{`.status.conditions: want {"type":"Stalled"}, is not there`}},
		"a map for a list": {`{tags: {a: 1}}`, []string{`.spec.tags: want {"a":1}, is ["a","b"]`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want := Object(t, "{apiVersion: v1, kind: Thing, metadata: {name: it}, spec: "+test.spec+"}")
			if diff := cmp.Diff(test.want, Differences(want, Object(t, live))); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}
