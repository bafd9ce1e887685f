package check_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// find gives the codes and the messages of what is found in a template.
func find(t *testing.T, text string) (codes, messages []string) {
	t.Helper()
	var list diagnostic.List
	source := yamltree.New("x.yaml", []byte(text))
	roots, wrong := source.Parse(source.Documents()[0])
	if wrong != nil {
		t.Fatal(wrong.Message)
	}
	template := source.Build(roots[0], &list)
	apiVersion, _ := template.Get("apiVersion").Text()
	kind, _ := template.Get("kind").Text()
	reporter := check.NewReporter(source)
	check.Refused(reporter, template, schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind())
	for _, f := range reporter.Findings() {
		codes, messages = append(codes, string(f.Code)), append(messages, f.Message)
	}
	return codes, messages
}

// What testdata/templates.yaml wants is found. The API server is asked in restmapping/openapi.
func TestTemplates(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/templates.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(data), "---\n") {
		_, rest, _ := strings.Cut(document, "# want:")
		want, _, _ := strings.Cut(rest, "\n")
		codes, _ := find(t, document)
		if d := cmp.Diff(strings.TrimSpace(want), strings.Join(codes, " ")); d != "" {
			t.Errorf("%s\n%s", document, d)
		}
	}
}

// What comes from expressions counts as far as it is certain.
func TestExpressions(t *testing.T) {
	t.Parallel()
	deployment := func(match, labels string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nspec:\n  selector: {matchLabels: " + match + "}\n  template:\n    metadata: " + labels + "\n"
	}
	pod := func(spec string) string { return "apiVersion: v1\nkind: Pod\nspec: " + spec + "\n" }
	service := func(ports string) string { return "apiVersion: v1\nkind: Service\nspec: {ports: " + ports + "}\n" }
	const mount = `containers: [{name: a, volumeMounts: [{name: data, mountPath: /d}]}]`
	tests := map[string]struct{ template, want string }{
		"the same expression":             {deployment(`{app: "${parent.metadata.name}"}`, `{labels: {app: "${parent.metadata.name}"}}`), ""},
		"another expression":              {deployment(`{app: "${parent.metadata.name}"}`, `{labels: {app: "${parent.spec.app}"}}`), ""},
		"an expression and a literal":     {deployment(`{app: "${parent.metadata.name}"}`, `{labels: {app: web}}`), ""},
		"a label that is missing":         {deployment(`{app: "${parent.metadata.name}"}`, `{labels: {name: "${parent.metadata.name}"}}`), "KN0424"},
		"text that is missing":            {deployment(`{app: "x-${parent.spec.x}"}`, `{labels: {name: x}}`), "KN0424"},
		"one that may be left out":        {deployment(`{app: "${parent.spec.?x}", b: c}`, `{labels: {b: c}}`), ""},
		"labels of an expression":         {deployment(`{app: web}`, `{labels: "${variables.labels}"}`), ""},
		"metadata of an expression":       {deployment(`{app: web}`, `"${variables.metadata}"`), ""},
		"a key of an expression":          {deployment(`{app: web}`, `{labels: {"${parent.spec.key}": web}}`), ""},
		"a selector of an expression":     {deployment(`"${variables.labels}"`, `{labels: {a: b}}`), ""},
		"a selector without any labels":   {deployment(`"${variables.labels}"`, `{labels: {}}`), "KN0424"},
		"no volumes":                      {pod(`{` + mount + `}`), "KN0425"},
		"volumes of an expression":        {pod(`{` + mount + `, volumes: "${parent.spec.volumes}"}`), ""},
		"a spread among volumes":          {pod(`{` + mount + `, volumes: [{name: b, emptyDir: {}}, "${...parent.spec.volumes}"]}`), ""},
		"a volume with a computed name":   {pod(`{` + mount + `, volumes: [{name: "${parent.spec.volume}", emptyDir: {}}]}`), ""},
		"a spec with a computed key":      {pod(`{` + mount + `, "${parent.spec.field}": []}`), ""},
		"a computed mount":                {pod(`{containers: [{name: a, volumeMounts: [{name: "${parent.spec.a}"}]}], volumes: [{name: b}]}`), ""},
		"two ports, one of an expression": {service(`[{port: 80}, "${parent.spec.port}"]`), ""},
		"three ports":                     {service(`[{port: 80}, "${...parent.spec.ports}", {port: 81, name: b}]`), "KN0415"},
		"a name that may be left out":     {service(`[{port: 80, name: "${parent.spec.?x}"}, {port: 81, name: b}]`), ""},
		"one name twice":                  {service(`[{port: 80, name: "p-${parent.spec.x}"}, {port: 81, name: "p-${parent.spec.x}"}]`), "KN0416"},
		"a computed schedule":             {"apiVersion: batch/v1\nkind: CronJob\nspec: {schedule: \"0 ${parent.spec.hour} * * *\", jobTemplate: \"${parent.spec.job}\"}\n", ""},
		"a computed restartPolicy":        {"apiVersion: batch/v1\nkind: Job\nspec: {template: {spec: {restartPolicy: \"${parent.spec.x}\"}}}\n", ""},
		"a computed Pod":                  {"apiVersion: batch/v1\nkind: Job\nspec: {template: {spec: \"${parent.spec.x}\"}}\n", ""},
		"a computed limit":                {pod(`{containers: [{name: a, resources: {requests: {cpu: 2}, limits: {cpu: "${parent.spec.x}"}}}]}`), ""},
		"a computed probe":                {pod(`{containers: [{name: a, livenessProbe: "${parent.spec.x}"}]}`), ""},
		"no Deployment of apps":           {"apiVersion: example.com/v1\nkind: Deployment\nspec: {selector: {}}\n", ""},
		"nothing":                         {"apiVersion: apps/v1\nkind: Deployment\n", ""},
		"other types":                     {"apiVersion: apps/v1\nkind: StatefulSet\nspec: {selector: 5, template: [1], volumeClaimTemplates: x}\n", ""},
		"more other types":                {pod(`{containers: {a: b}, volumes: 7}`), ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			codes, messages := find(t, tc.template)
			if d := cmp.Diff(tc.want, strings.Join(codes, " ")); d != "" {
				t.Errorf("%s\n%q", d, messages)
			}
		})
	}
}
