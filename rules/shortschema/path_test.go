package shortschema_test

import (
	"strings"
	"testing"

	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

// TestPaths: the paths of columns and of scale lead to fields of the schema, of the status that the rule sets, or of metadata. One that
// does not has a finding at the name that is wrong.
func TestPaths(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path string
		// want is the beginning of the finding, with its column; empty: there is none.
		want string
	}{
		"a field":                 {".spec.image", ""},
		"a field of the status":   {".status.url", ""},
		"a condition":             {`.status.conditions[?(@.type=="Ready")].status`, ""},
		"the name":                {".metadata.name", ""},
		"a label":                 {`.metadata.labels.app\.kubernetes\.io/name`, ""},
		"a label in brackets":     {`.metadata.annotations['a\.b']`, ""},
		"an item":                 {".spec.ports[0].name", ""},
		"all items":               {".spec.ports[*].name", ""},
		"some items":              {".spec.ports[0:2].name", ""},
		"two items":               {".spec.ports[0,1].name", ""},
		"an entry":                {".spec.labels.whatever", ""},
		"all entries":             {".spec.labels.*", ""},
		"whatever it has":         {".spec.free.a.b[3].c", ""},
		"everywhere":              {"..name", ""},
		"another field":           {".spec.imag", `23: error: .spec.imag leads to no field of the schema; did you mean "image"? [KN0803]`},
		"another part":            {".spek.image", `18: error: .spek.image leads to no field of the schema; did you mean "spec"? [KN0803]`},
		"another status":          {".status.uri", `25: error: .status.uri leads to no field of the schema; did you mean "url"? [KN0803]`},
		"another metadata":        {".metadata.nam", `27: error: .metadata.nam leads to no field of the schema; did you mean "name"? [KN0803]`},
		"another field of items":  {".spec.ports[*].nam", `32: error: .spec.ports[*].nam leads to no field of the schema; did you mean "name"? [KN0803]`},
		"another in the filter":   {`.status.conditions[?(@.typ=="Ready")].status`, `40: error: .status.conditions[?(@.typ=="Ready")].status leads to no field of the schema; did you mean "type"? [KN0803]`},
		"below text":              {".spec.image.tag", `29: error: .spec.image.tag leads to no field of the schema [KN0803]`},
		"an item of text":         {".spec.image[0]", `28: error: .spec.image[0] takes an item of what is no list [KN0803]`},
		"a path that is none":     {".spec.ports[", `17: error: .spec.ports[ is no path of kubectl: unterminated array [KN0803]`},
		"no dot":                  {"spec.image", `17: error: spec.image is no path of kubectl: it does not begin with a dot, as .spec does [KN0803]`},
		"a name that comes twice": {".spec.spec", `23: error: .spec.spec leads to no field of the schema [KN0803]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := checked(t, "columns:\n      - name: A\n        value: '"+strings.ReplaceAll(test.path, "'", "''")+"'")
			want := ""
			if test.want != "" {
				want = "rule.yaml:13:" + test.want + "\n"
			}
			if got != want {
				t.Errorf("got  %swant %s", got, want)
			}
		})
	}
	for name, test := range map[string]struct{ scale, want string }{
		"scale":               {"{specReplicas: .spec.replicas, statusReplicas: .status.replicas, labelSelector: .status.url}", ""},
		"another field":       {"{specReplicas: .spec.replica, statusReplicas: .status.replicas}", `rule.yaml:11:35: error: .spec.replica leads to no field of the schema; did you mean "replicas"? [KN0803]`},
		"another in status":   {"{specReplicas: .spec.replicas, statusReplicas: .status.size}", `.status.size leads to no field of the schema`},
		"of spec in status":   {"{specReplicas: .spec.replicas, statusReplicas: .spec.replicas}", `.spec.replicas does not begin with .status., as scale wants it [KN0803]`},
		"of status in spec":   {"{specReplicas: .status.replicas, statusReplicas: .status.replicas}", `.status.replicas does not begin with .spec., as scale wants it [KN0803]`},
		"of metadata":         {"{specReplicas: .spec.replicas, statusReplicas: .status.replicas, labelSelector: .metadata.name}", `.metadata.name does not begin with .spec. or .status., as scale wants it [KN0803]`},
		"text":                {"{specReplicas: .spec.image, statusReplicas: .status.replicas}", `.spec.image leads to a field of type string: scale wants integer [KN0803]`},
		"a number for labels": {"{specReplicas: .spec.replicas, statusReplicas: .status.replicas, labelSelector: .spec.replicas}", `.spec.replicas leads to a field of type integer: scale wants string [KN0803]`},
	} {
		t.Run("scale/"+name, func(t *testing.T) {
			t.Parallel()
			got := checked(t, "scale: "+test.scale)
			if !strings.Contains(got, test.want) || test.want == "" && got != "" {
				t.Errorf("got %swant %s", got, test.want)
			}
		})
	}
}

// checked is what is wrong with a kind that has this beside its fields.
func checked(t *testing.T, more string) string {
	t.Helper()
	docs, findings := syntax.Decode("rule.yaml", []byte(`apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: example}
spec:
  parent:
    apiVersion: example.com/v1
    kind: Thing
    schema:
      spec: {image: string, replicas: integer, labels: "map[string]string", free: object, ports: "[]Port"}
      types: {Port: {name: string}}
      `+more+`
  status: {url: "${parent.spec.?image.orValue('')}x", replicas: "${parent.spec.?replicas.orValue(0)}"}
`))
	findings = append(findings, rules.Inference{Schemas: openapi.Builtin{}}.Infer(&docs)...)
	if !findings.HasErrors() {
		for _, p := range definitions.Check(t.Context(), docs.CRDs[0]) {
			t.Errorf("the API server refuses it: %s", p.Message)
		}
	}
	var text string
	for _, f := range findings {
		text += f.String() + "\n"
	}
	return text
}
