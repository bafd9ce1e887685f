package livediff

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// patched is the Namespace shop, on which a patch of the rule has set labels, and taken one from kubectl.
func patchedNamespace(labels, fields, taken string) string {
	manager := fieldset.PatchManager(mark.RuleID(kanon, kanon, "r"), "tag")
	annotations := ""
	if taken != "" {
		annotations = "annotations: {kanon.dev/taken: '" + taken + "'}, "
	}
	return `{apiVersion: v1, kind: Namespace, metadata: {name: shop, uid: n1, ` + annotations + `labels: {` + labels + `}, managedFields: [
{manager: ` + manager + `, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {` + fields + `}}}}]}}`
}

// What a patch no longer sets is removed, or gets back the value that it had, unless a parent sets it still or may set it.
func TestRestored(t *testing.T) {
	t.Parallel()
	const (
		tag = `
  patches:
  - id: tag
    target: {apiVersion: v1, kind: Namespace, name: shop}
    template: {metadata: {labels: {one: a}}}`
		each = `
  patches:
  - id: tag
    target: {apiVersion: v1, kind: Namespace, name: shop}
    template: {metadata: {labels: {"${parent.metadata.name}": a}}}`
		oneAndTwo   = `"f:one": {}, "f:two": {}`
		record      = `{"patches":[{"id":"tag","version":"v1","kind":"Namespace"}]}`
		unselective = `{apiVersion: kanon.dev/v1alpha1, kind: Rule, metadata: {name: r}, spec: {parent: {apiVersion: v1, kind: ServiceAccount}}}`
		other       = `{apiVersion: v1, kind: ServiceAccount, metadata: {name: api, namespace: shop, uid: 0b5c3a52-0f47-4a5c-8d4e-000000000002`
	)
	for name, tc := range map[string]struct {
		spec    string
		objects []string
		// has and not are lines of the diff.
		has, not []string
		note     string
	}{
		"all is set": {spec: tag, objects: []string{patchedNamespace("one: a, two: b", `"f:one": {}`, "")}},
		"one field is set no more": {
			spec: tag, objects: []string{patchedNamespace("one: a, two: b", oneAndTwo, "")},
			has: []string{"-    two: b", "     one: a"},
		},
		"another value is no release": {
			spec: tag, objects: []string{patchedNamespace("one: z, two: b", oneAndTwo, "")},
			has: []string{"-    two: b"}, not: []string{"-    one: z"},
		},
		"it was somebody else's": {
			spec: tag, objects: []string{patchedNamespace("one: a, two: b", oneAndTwo, `[{"path":["f:metadata","f:labels","f:two"],"value":"before","owner":"kubectl"}]`)},
			has: []string{"-    two: b", "+    two: before"},
		},
		"the patch is gone, and the record has it": {
			spec: oneChild, objects: []string{
				patchedNamespace("one: a", `"f:one": {}`, ""),
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: kanon-state-` + mark.RuleID(kanon, kanon, "r") + `, namespace: ` + kanon + `}, data: {record: '` + record + `'}}`,
			},
			has: []string{"-  labels:", "-    one: a"},
		},
		"the patch is gone, and there is no record": {spec: oneChild, objects: []string{patchedNamespace("one: a", `"f:one": {}`, "")}},
		"another parent sets it": {
			spec: each, objects: []string{patchedNamespace("web: a, api: a, gone: a", `"f:web": {}, "f:api": {}, "f:gone": {}`, ""), other + "}}"},
			has: []string{"-    gone: a"}, not: []string{"-    api: a"},
		},
		"a suspended parent may have set it": {
			spec: each, objects: []string{patchedNamespace("web: a, older: a", `"f:web": {}, "f:older": {}`, ""), other + `, annotations: {kanon.dev/suspend: "true"}}}`},
			note: "what patch tag no longer sets is not shown, because it is not known what it sets for a parent: ServiceAccount shop/api is suspended",
		},
		"a suspended object is no parent": {
			spec: each, objects: []string{patchedNamespace("web: a, older: a", `"f:web": {}, "f:older": {}`, ""), other + `, labels: {not: selected}, annotations: {kanon.dev/suspend: "true"}}}`},
			has: []string{"-    older: a"},
		},
		"a suspended object was a parent": {
			spec: each, objects: []string{
				patchedNamespace("web: a, older: a", `"f:web": {}, "f:older": {}`, ""), other + `, labels: {not: selected}, annotations: {kanon.dev/suspend: "true"}}}`,
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: rules, namespace: ` + kanon + `, labels: {kanon.dev/rules: "true"}}, data: {rule.yaml: '` + unselective + `'}}`,
			},
			note: "what patch tag no longer sets is not shown, because it is not known what it sets for a parent: ServiceAccount shop/api is suspended",
		},
		"a parent that is being deleted sets it no more": {
			spec: each, objects: []string{patchedNamespace("web: a, api: a", `"f:web": {}, "f:api": {}`, ""), other + `, deletionTimestamp: "2026-03-05T06:07:08Z"}}`},
			has: []string{"-    api: a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _ := differ(t, tc.spec, tc.objects...)
			if _, err := d.Diff(t.Context(), parse(t, parentText)); err != nil {
				t.Fatal(err)
			}
			restored, notes, err := d.Restored(t.Context())
			if note := strings.Join(notes, ", "); err != nil || note != tc.note {
				t.Fatal(note, err)
			}
			text := ""
			for _, change := range restored {
				if change.Action != Restored {
					t.Errorf("the action is %s", change.Action)
				}
				text += change.Unified()
			}
			if len(tc.has) == 0 && text != "" {
				t.Errorf("something is restored:\n%s", text)
			}
			for _, line := range tc.has {
				if !strings.Contains(text, line+"\n") {
					t.Errorf("the diff has no line %q:\n%s", line, text)
				}
			}
			for _, line := range tc.not {
				if strings.Contains(text, line+"\n") {
					t.Errorf("the diff has the line %q:\n%s", line, text)
				}
			}
		})
	}
}

// The imagePullSecrets of a ServiceAccount are shared item by item.
func TestRestoredItems(t *testing.T) {
	t.Parallel()
	manager := fieldset.PatchManager(mark.RuleID(kanon, kanon, "r"), "pull")
	d, _ := differ(t, `
  patches:
  - id: pull
    target: {apiVersion: v1, kind: ServiceAccount, name: default}
    template: {imagePullSecrets: [{name: ours}]}`,
		`{apiVersion: v1, kind: ServiceAccount, imagePullSecrets: [{name: theirs}, {name: old}], metadata: {name: default, namespace: shop, uid: s1, labels: {not: selected}, annotations: {kanon.dev/joined: '{"items":{"old":["`+manager+`"]}}'}}}`)
	if _, err := d.Diff(t.Context(), parse(t, parentText)); err != nil {
		t.Fatal(err)
	}
	restored, _, err := d.Restored(t.Context())
	if err != nil || len(restored) != 1 {
		t.Fatal(restored, err)
	}
	text := restored[0].Unified()
	if !strings.Contains(text, "-- name: old\n") || strings.Contains(text, "-- name: theirs") || strings.Contains(text, "+- name: ours") {
		t.Error(text)
	}
}

// What a patch has set from a Secret that the rule no longer reads is not shown when it is removed, and nor is anything of it to those who
// may not list Secrets.
func TestRestoredSecret(t *testing.T) {
	t.Parallel()
	id := mark.RuleID(kanon, kanon, "r")
	objects := []string{
		`{apiVersion: v1, kind: Secret, metadata: {name: login, namespace: shop}, data: {token: dG9wc2VjcmV0}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: note, namespace: shop, uid: n1, managedFields: [
{manager: ` + fieldset.PatchManager(id, "note") + `, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:url": {}, "f:kept": {}}}}]},
data: {url: "https://topsecret@db", kept: topsecret}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: kanon-state-` + id + `, namespace: ` + kanon + `, labels: {kanon.dev/state: "true"}},
data: {record: '{"rule": "kanon-system/r", "patches":[{"id":"note","version":"v1","kind":"ConfigMap"}]}'}}`,
	}
	for name, forbidden := range map[string]bool{"who may list Secrets": false, "who may not": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, client := differ(t, oneChild, objects...)
			if forbidden {
				client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", nil)
				})
			}
			if _, err := d.Diff(t.Context(), parse(t, parentText)); err != nil {
				t.Fatal(err)
			}
			restored, _, err := d.Restored(t.Context())
			if err != nil || len(restored) != 1 {
				t.Fatal(restored, err)
			}
			text := restored[0].Unified()
			want := "-  url: https://(hidden)@db"
			if forbidden {
				want = "-  url: (hidden)"
			}
			if !strings.Contains(text, want) || strings.Contains(text, "topsecret") {
				t.Error(text)
			}
		})
	}
}
