package apply

import (
	"testing"

	"kanon.dev/kanon/engine/apply/applytest"
)

// TestStatusInPlace holds which values of an object count as those of the content.
func TestStatusInPlace(t *testing.T) {
	t.Parallel()
	const manager = "kanon-status-x"
	w := NewStatusWriter(NewAPI(nil, &fakeSchemas{known: applytest.Converter(t, statusSchema)}, applytest.NoStatus))
	for _, c := range []struct {
		name, content, live, paths string
		want                       bool
	}{
		{"equal", `{url: here, count: 1}`, `{url: here, count: 1}`, `{"f:url": {}, "f:count": {}}`, true},
		{"equal numbers of two types", `{count: 1}`, `{count: 1.0}`, `{"f:count": {}}`, true},
		{"another value", `{count: 1}`, `{count: 2}`, `{"f:count": {}}`, false},
		{"a missing value", `{count: 1}`, `{}`, `{"f:count": {}}`, false},
		{"fields of others", `{count: 1}`, `{count: 1, url: there}`, `{"f:count": {}}`, true},
		{"fields of others in a map", `{limits: {a: b}}`, `{limits: {a: b, c: d}}`, `{"f:limits": {"f:a": {}}}`, true},
		{"a field more in an atomic map", `{selector: {a: b}}`, `{selector: {a: b, c: d}}`, `{"f:selector": {}}`, false},
		{"an atomic list", `{args: [a, b]}`, `{args: [a, b]}`, `{"f:args": {}}`, true},
		{"an atomic list in another order", `{args: [b, a]}`, `{args: [a, b]}`, `{"f:args": {}}`, false},
		{
			"an item beside one of others", `{conditions: [{type: A, status: "True"}]}`,
			`{conditions: [{type: B, status: "False"}, {type: A, status: "True", reason: x}]}`,
			`{"f:conditions": {"k:{\"type\":\"A\"}": {".": {}, "f:type": {}, "f:status": {}}}}`, true,
		},
		{
			"another value in an item", `{conditions: [{type: A, status: "True"}]}`,
			`{conditions: [{type: B, status: "True"}, {type: A, status: "False"}]}`,
			`{"f:conditions": {"k:{\"type\":\"A\"}": {".": {}, "f:type": {}, "f:status": {}}}}`, false,
		},
		{
			"an item twice", `{conditions: [{type: A, status: "True"}]}`,
			`{conditions: [{type: A, status: "True"}, {type: A, status: "False"}]}`,
			`{"f:conditions": {"k:{\"type\":\"A\"}": {".": {}, "f:type": {}, "f:status": {}}}}`, false,
		},
		{"a value of another type beside it", `{count: 1}`, `{count: 1, url: {}}`, `{"f:count": {}}`, false},
	} {
		live := applytest.WithManaged(
			applytest.Object(t, `{apiVersion: test/v1, kind: Thing, metadata: {name: a, namespace: n}, status: `+c.live+`}`),
			applytest.Managed(t, manager, "Apply", "test/v1", `{"f:status": `+c.paths+`}`))
		content := applytest.Object(t, `{apiVersion: test/v1, kind: Thing, status: `+c.content+`}`).Object["status"]
		s := Status{Object: live, Manager: manager, Content: content.(map[string]any)} //nolint:forcetypeassert // as written above
		if got, err := w.IsInPlace(t.Context(), s); err != nil || got != c.want {
			t.Errorf("%s: in place: %t, %v", c.name, got, err)
		}
	}
}

// statusSchema has a status with fields of all kinds.
const statusSchema = `
io.k8s.api.test.v1.Thing:
  type: object
  x-kubernetes-group-version-kind: [{group: test, version: v1, kind: Thing}]
  properties:
    apiVersion: {type: string}
    kind: {type: string}
    metadata: {type: object, properties: {name: {type: string}, namespace: {type: string}}}
    status:
      type: object
      properties:
        url: {type: string}
        count: {type: number}
        limits: {type: object, additionalProperties: {type: string}}
        selector: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}
        args: {type: array, items: {type: string}, x-kubernetes-list-type: atomic}
        conditions:
          type: array
          x-kubernetes-list-type: map
          x-kubernetes-list-map-keys: [type]
          items:
            type: object
            properties:
              type: {type: string}
              status: {type: string}
              reason: {type: string}
`

// A status is in place only in the entry of its manager, applied as it is now.
func TestStatusOfAnotherEntry(t *testing.T) {
	t.Parallel()
	w := NewStatusWriter(NewAPI(nil, &fakeSchemas{known: applytest.Converter(t, applytest.Schemas)}, applytest.NoStatus))
	live := applytest.WithManaged(
		applytest.Object(t, `{apiVersion: test/v1, kind: Thing, metadata: {name: a, namespace: n}, status: {url: here}}`),
		applytest.Managed(t, "kanon-status-x", "Apply", "test/v1", `{"f:status": {"f:url": {}}}`))
	for s, want := range map[*Status]bool{
		{Manager: "kanon-status-x"}:                    true,
		{Manager: "kanon-status-y"}:                    false,
		{Manager: "kanon-status-x", Subresource: true}: false,
	} {
		s.Object, s.Content = live, map[string]any{"url": "here"}
		if got, err := w.IsInPlace(t.Context(), *s); err != nil || got != want {
			t.Errorf("%s, subresource %t: in place: %t, %v", s.Manager, s.Subresource, got, err)
		}
	}
}
