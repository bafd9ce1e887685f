package rules

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/program"
)

// Objects that are only read are never copied: what an evaluation allocates does
// not grow with them.
func TestLargeObjectsAreNotCopied(t *testing.T) { //nolint:paralleltest // It counts what the whole process allocates.
	programs, findings := compileAll("rule.yaml", []byte(`
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: r}
spec:
  parent: {apiVersion: v1, kind: ConfigMap}
  lookups:
  - {id: one, apiVersion: v1, kind: ConfigMap, name: one}
  - {id: all, apiVersion: v1, kind: ConfigMap, selector: {}}
  variables:
  - {name: data, value: {all: "${parent.data}"}}
  children:
  - id: child
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${parent.metadata.name}"}
      stringData: {size: "${string(variables.data.all.size())}", first: "${variables.data.all.small}"}
  - id: reader
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${parent.metadata.name}-reader"}
      stringData:
        of: ${string(children.child.data.small)}
        one: ${lookups.one.data.small}
        all: ${lookups.all[0].data.small}
        before: ${string(observed.child.data.small)}
`), testKinds{}.options())
	if len(programs) != 1 {
		t.Fatal(findings)
	}
	const few, many = 10, 100_000
	small, big := measure(t, programs[0], few), measure(t, programs[0], many)
	if big > small+many {
		t.Errorf("an evaluation over objects of %d fields allocates %d bytes, one over objects of %d fields %d", many, big, few, small)
	}
}

// measure is how many bytes an evaluation allocates whose parent and live child
// hold that many fields.
func measure(t *testing.T, p *program.Program, fields int) uint64 {
	t.Helper()
	data := map[string]any{"small": "eA=="}
	for i := range fields {
		data[strconv.Itoa(i)] = "x"
	}
	parent := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c", "namespace": "n"}, "data": data,
	}}
	live := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "c", "namespace": "n"}, "data": data,
	}}
	const rounds = 10
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		ev := p.Evaluate(t.Context(), program.Input{Parent: parent, Now: time.Unix(0, 0), Reader: always{object: parent}})
		nodes := 0
		for batch := ev.Next(); len(batch) > 0; batch = ev.Next() {
			for _, r := range batch {
				nodes++
				ev.Applied(r.Node, []*unstructured.Unstructured{live})
			}
		}
		if nodes != 2 {
			t.Fatalf("%d nodes rendered: %+v", nodes, ev.Result())
		}
	}
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / rounds
}

// always finds the same objects, whatever is asked.
type always struct {
	nobody
	object *unstructured.Unstructured
}

func (a always) Lookup(program.Query) ([]*unstructured.Unstructured, error) {
	return []*unstructured.Unstructured{a.object}, nil
}

func (a always) Observed(string) ([]*unstructured.Unstructured, error) {
	return a.Lookup(program.Query{})
}

func (a always) Live(*unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return a.object, nil
}
