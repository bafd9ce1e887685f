package rules

import (
	"strings"
	"testing"

	"kanon.dev/kanon/rules/syntax"
)

// Wherever a rule reads the status of its parent, or the version of its metadata, it counts as a rule that does. After the
// cleanup of a parent, nothing of it is evaluated any more, so that spec.finalize does not count.
func TestOwnReadsOfARule(t *testing.T) {
	t.Parallel()
	const child = "  children:\n  - id: a\n    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n    "
	for place, spec := range map[string]string{
		"spec.variables":            "  variables: [{name: v, value: '${$X}'}]\n",
		"lookups.forEach":           "  lookups: [{id: l, apiVersion: v1, kind: Secret, name: '${i}', forEach: [{name: i, in: '${[$X]}'}]}]\n",
		"lookups.variables":         "  lookups: [{id: l, apiVersion: v1, kind: Secret, name: '${variables.v}', variables: [{name: v, value: '${$X}'}]}]\n",
		"lookups.name":              "  lookups: [{id: l, apiVersion: v1, kind: Secret, name: '${$X}'}]\n",
		"lookups.selector":          "  lookups: [{id: l, apiVersion: v1, kind: Secret, selector: {matchLabels: {a: '${$X}'}}}]\n",
		"lookups.namespace":         "  lookups: [{id: l, apiVersion: v1, kind: Secret, name: a, namespace: '${$X}'}]\n",
		"lookups.when":              "  lookups: [{id: l, apiVersion: v1, kind: Secret, name: a, when: \"${$X != ''}\"}]\n",
		"children.when":             child + "when: \"${$X != ''}\"\n",
		"children.forEach":          strings.Replace(child, "name: a}", "name: '${i}'}", 1) + "forEach: [{name: i, in: '${[$X]}'}]\n",
		"children.variables":        child + "variables: [{name: v, value: '${$X}'}]\n",
		"children.readyWhen":        child + "readyWhen: \"${$X != ''}\"\n",
		"children.createWhen":       child + "createWhen: \"${$X != ''}\"\n",
		"children.updateWhen":       child + "updateWhen: \"${$X != ''}\"\n",
		"children.recreateWhen":     child + "recreateWhen: \"${$X != ''}\"\n",
		"children.deletionPolicy":   child + "deletionPolicy: \"${$X != '' ? 'Orphan' : 'Delete'}\"\n",
		"children.ignore.when":      child + "ignore: [{path: data.x, when: \"${$X != ''}\"}]\n",
		"children.rollout":          strings.Replace(child, "name: a}", "name: 'a${i}'}", 1) + "forEach: [{name: i, in: '${[1, 2]}'}]\n    rollout: {maxUnavailable: '${size($X)}'}\n",
		"children.template":         strings.Replace(child, "name: a}", "name: '${$X}'}", 1) + "\n",
		"patches.when":              "  patches: [{id: p, target: {apiVersion: v1, kind: Secret, name: a}, when: \"${$X != ''}\", template: {metadata: {labels: {a: b}}}}]\n",
		"patches.forEach":           "  patches: [{id: p, target: {apiVersion: v1, kind: Secret, name: a}, forEach: [{name: i, in: '${[$X]}'}], template: {metadata: {labels: {'a${i}': b}}}}]\n",
		"patches.variables":         "  patches: [{id: p, target: {apiVersion: v1, kind: Secret, name: a}, variables: [{name: v, value: '${$X}'}], template: {metadata: {labels: {a: b}}}}]\n",
		"patches.target.name":       "  patches: [{id: p, target: {apiVersion: v1, kind: Secret, name: '${$X}'}, template: {metadata: {labels: {a: b}}}}]\n",
		"patches.target.selector":   "  patches: [{id: p, target: {apiVersion: v1, kind: Secret, selector: {matchLabels: {a: '${$X}'}}}, template: {metadata: {labels: {a: b}}}}]\n",
		"patches.template":          "  patches: [{id: p, target: {apiVersion: v1, kind: Secret, name: a}, template: {metadata: {labels: {a: '${$X}'}}}}]\n",
		"spec.status":               "  status: {a: '${$X}'}\n",
		"spec.conditions.status":    "  conditions: [{type: A, status: \"${$X != ''}\"}]\n",
		"spec.conditions.reason":    "  conditions: [{type: A, status: '${true}', reason: '${$X}'}]\n",
		"spec.conditions.message":   "  conditions: [{type: A, status: '${true}', message: '${$X}'}]\n",
		"spec.events.when":          "  events: [{when: \"${$X != ''}\", reason: A, message: b}]\n",
		"spec.events.message":       "  events: [{reason: A, message: '${$X}'}]\n",
		"spec.requeueAfter":         "  requeueAfter: '${duration($X)}'\n",
		"spec.minInterval":          "  minInterval: '${duration($X)}'\n",
		"spec.deleteWhen":           "  deleteWhen: \"${$X != ''}\"\n",
		"spec.parent.when":          "",
		"nowhere":                   "  status: {a: '${parent.spec.x}'}\n",
		"the labels and annotation": "  status: {a: '${parent.metadata.labels.x + parent.metadata.?annotations.?x.orValue(parent.metadata.name)}'}\n",
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			reads := strings.Contains(spec, "$X") || spec == ""
			for read, want := range map[string][2]bool{
				"parent.status.x": {reads, false}, "parent.metadata.resourceVersion": {false, reads}, "toJson(parent)": {reads, reads},
			} {
				text := ruleFor(strings.ReplaceAll(spec, "$X", read))
				if spec == "" {
					text = strings.Replace(text, "kind: WebApp}", "kind: WebApp, when: \"${"+read+" != ''}\"}", 1)
				}
				docs, findings := syntax.Decode("f", []byte(text))
				if findings.HasErrors() {
					t.Fatal(findings)
				}
				p, findings := Compile(docs.Rules[0], Options{})
				if p == nil {
					t.Fatalf("%s: %v", read, findings)
				}
				if got := [2]bool{p.ReadsStatus, p.ReadsVersion}; got != want {
					t.Errorf("with %s, it reads the status and the version: %v, want %v", read, got, want)
				}
			}
		})
	}
}
