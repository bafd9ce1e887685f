package livediff

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// What happens to children that the rule does not render, and what the prune guard has to know.
func TestEnded(t *testing.T) {
	t.Parallel()
	gone := childOf("gone", "gone", "none")
	const none = `
  children:
  - id: config
    when: ${false}
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}}
`
	for name, tc := range map[string]struct {
		spec, parent string
		objects      []string
		// changes are the titles, losses what the guard counts; "at most" begins what is not certain.
		changes, losses string
	}{
		"deleted": {
			spec: none, objects: []string{gone},
			changes: "delete ConfigMap shop/gone", losses: "ConfigMap shop/gone",
		},
		"while a child waits": {
			spec: `
  lookups: [{id: absent, apiVersion: v1, kind: ConfigMap, name: absent}]
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${lookups.absent.metadata.name}"}}`,
			objects: []string{gone}, losses: "at most ConfigMap shop/gone",
		},
		"while something else has the name of a child": {
			spec: oneChild, objects: []string{gone, "{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: shop}}"},
			changes: "refuse ConfigMap shop/config: ConfigMap shop/config exists already and belongs to nobody, as it has neither a controller nor a mark; " +
				"Kanon does not change it, unless the child has adopt: true, keep ConfigMap shop/gone: it is not deleted as long as something else is refused",
			losses: "at most ConfigMap shop/gone",
		},
		"with the parent": {
			spec: none + "  deleteWhen: ${parent.metadata.name == 'web'}", objects: []string{gone},
			changes: "delete ConfigMap shop/gone, delete ServiceAccount shop/web: deleteWhen is true", losses: "ConfigMap shop/gone, ServiceAccount shop/web",
		},
		"without the parent": {spec: none + "  deleteWhen: ${parent.metadata.name == 'api'}", objects: []string{gone}, changes: "delete ConfigMap shop/gone", losses: "ConfigMap shop/gone"},
		"perhaps with the parent": {
			spec: `
  lookups: [{id: absent, apiVersion: v1, kind: ConfigMap, name: absent}]
  deleteWhen: ${lookups.absent.metadata.name == 'a'}`,
			changes: "", losses: "at most ServiceAccount shop/web",
		},
		"a parent that the rule does not select": {
			spec: none + "  deleteWhen: ${true}", parent: strings.Replace(parentText, "name: web", "name: web, labels: {not: selected}", 1), objects: []string{gone},
			changes: "delete ConfigMap shop/gone", losses: "ConfigMap shop/gone",
		},
		"of a suspended parent": {
			spec: oneChild, parent: strings.Replace(parentText, "name: web", `name: web, annotations: {kanon.dev/suspend: "true"}`, 1), objects: []string{gone, child("theirs")},
			losses: "at most ConfigMap shop/config, ConfigMap shop/gone",
		},
		"of a parent that is being deleted": {
			spec: oneChild, parent: strings.Replace(parentText, "name: web", `name: web, deletionTimestamp: "2026-03-05T06:07:08Z"`, 1), objects: []string{gone},
		},
		"a child that is recreated": {
			spec: strings.Replace(oneChild, "- id: config", "- id: config\n    recreateWhen: ${true}", 1), objects: []string{child("theirs")},
			changes: "recreate ConfigMap shop/config: is deleted and recreated: its recreateWhen is true", losses: "ConfigMap shop/config",
		},
		"a child that is recreated once another is ready": {
			spec: `
  children:
  - id: first
    readyWhen: ${false}
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: first}}
  - id: config
    dependsOn: [first]
    updatePolicy: Recreate
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {a: b}}`,
			objects: []string{child("theirs")},
			changes: "create ConfigMap shop/first", losses: "at most ConfigMap shop/config",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _ := differ(t, tc.spec, tc.objects...)
			text := tc.parent
			if text == "" {
				text = parentText
			}
			changes, err := d.Diff(t.Context(), parse(t, text))
			if err != nil {
				t.Fatal(err)
			}
			var titles, losses []string
			for _, change := range changes.All {
				titles = append(titles, change.Title())
			}
			for _, loss := range changes.losses {
				losses = append(losses, loss.String())
			}
			lost := strings.Join(losses, ", ")
			if changes.unsure && lost != "" {
				lost = "at most " + lost
			}
			if got := strings.Join(titles, ", "); got != tc.changes {
				t.Errorf("changes:\ngot  %s\nwant %s", got, tc.changes)
			}
			if lost != tc.losses {
				t.Errorf("losses: got %q, want %q", lost, tc.losses)
			}
		})
	}
}

// What fails is told, and is a failure; what waits is told.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec, parent       string
		objects            []string
		problems, failures string
	}{
		"nothing": {spec: oneChild},
		"a child that waits": {
			spec: `
  lookups: [{id: absent, apiVersion: v1, kind: ConfigMap, name: absent}]
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${lookups.absent.metadata.name}"}}`,
			problems: "child config waits: template.metadata.name: ",
		},
		"a child that fails": {
			spec: `
  children:
  - id: config
    template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${parent.metadata.labels.missing}"}}`,
			problems: "child config fails: template.metadata.name: ",
			failures: "ServiceAccount shop/web: child config fails: template.metadata.name: ",
		},
		"a patch that fails": {
			spec: `
  patches:
  - id: tag
    target: {apiVersion: v1, kind: Namespace, name: shop}
    template: {metadata: {labels: {tag: "${parent.metadata.labels.missing}"}}}`,
			problems: "patch tag fails: template.metadata.labels.tag: ",
			failures: "ServiceAccount shop/web: patch tag fails: template.metadata.labels.tag: ",
		},
		"an event that fails": {
			spec: `
  events: [{when: "${parent.metadata.labels.missing == 'a'}", reason: Missing, message: "a"}]`,
			problems: "fails: events[0].when: ",
			failures: "ServiceAccount shop/web: fails: events[0].when: ",
		},
		"a rule of which it is not known whether it is for the parent": {
			spec: "\n", parent: strings.Replace(ruleText, "kind: ServiceAccount,", `kind: ServiceAccount, when: "${parent.metadata.labels.missing == 'a'}",`, 1),
			problems: "the rule fails: it is not known whether it is for the parent: ",
			failures: "ServiceAccount shop/web: the rule fails: it is not known whether it is for the parent: ",
		},
		"what has the name of a child": {
			spec: oneChild, objects: []string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: shop}}"},
			failures: "ServiceAccount shop/web: refuse ConfigMap shop/config: ",
		},
		"what has the name of a child, and is being deleted": {
			spec: oneChild, objects: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: shop, deletionTimestamp: "2026-03-05T06:07:08Z"}}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule := tc.parent
			if rule == "" {
				rule = ruleText
			}
			d, _ := differOf(t, rule+tc.spec, tc.objects...)
			changes, err := d.Diff(t.Context(), parse(t, parentText))
			if err != nil {
				t.Fatal(err)
			}
			var problems []string
			for _, problem := range changes.problems {
				problems = append(problems, problem.text)
			}
			check := func(what, got, want string) {
				if !strings.HasPrefix(got, want) || want == "" && got != "" {
					t.Errorf("%s: got %q, want %q", what, got, want)
				}
			}
			check("problems", strings.Join(problems, ", "), tc.problems)
			check("failures", strings.Join(changes.Failures(), ", "), tc.failures)
			summary := NewSummary([]*unstructured.Unstructured{changes.Parent}, 10, false)
			summary.Add(changes)
			if says := strings.Contains(summary.String(), "1 parent fails"); says != (tc.failures != "") {
				t.Errorf("the summary: %s", summary)
			}
		})
	}
}

// A parent that the rule is not for counts only if something is undone for it.
func TestConcerns(t *testing.T) {
	t.Parallel()
	other := strings.Replace(parentText, "name: web", "name: web, labels: {not: selected}", 1)
	suspended := strings.Replace(other, "name: web", `name: web, annotations: {kanon.dev/suspend: "true"}`, 1)
	for name, tc := range map[string]struct {
		parent  string
		objects []string
		want    bool
	}{
		"selected":                             {parentText, nil, true},
		"not selected":                         {other, nil, false},
		"not selected any more":                {other, []string{child("theirs")}, true},
		"not selected, and suspended":          {suspended, nil, false},
		"suspended, and not selected any more": {suspended, []string{child("theirs")}, true},
		"not selected, and being deleted":      {strings.Replace(other, "name: web", `name: web, deletionTimestamp: "2026-03-05T06:07:08Z"`, 1), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _ := differ(t, oneChild, tc.objects...)
			changes, err := d.Diff(t.Context(), parse(t, tc.parent))
			if err != nil {
				t.Fatal(err)
			}
			summary := NewSummary([]*unstructured.Unstructured{changes.Parent}, 10, false)
			summary.Add(changes)
			if counts := strings.HasPrefix(summary.String(), "1 parent: "); changes.Concerns() != tc.want || counts != tc.want {
				t.Errorf("%t: %s", changes.Concerns(), summary)
			}
		})
	}
}
