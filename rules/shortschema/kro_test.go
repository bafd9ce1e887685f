package shortschema_test

import (
	"strings"
	"testing"

	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/rules/syntax"
)

// TestFormsOfSimpleSchema: whoever comes from kro can paste a schema. Each form that its documentation has
// (https://kro.run/api/specifications/simple-schema) is taken as it is, or has a finding that says what to write.
func TestFormsOfSimpleSchema(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		schema string
		// want is a part of the only finding; empty: there is none.
		want string
	}{
		"basic types":               {"spec: {name: string, age: integer, enabled: boolean, price: float}", ""},
		"markers with values":       {"spec:\n  name: string | required=true immutable=true description=\"My Name\"\n  replicas: integer | default=1 minimum=1 maximum=100\n  image: string | required=true", ""},
		"any object":                {"spec: {values: object | required=true}", ""},
		"fields of an object":       {"spec:\n  ingress:\n    enabled: boolean | default=false\n    host: string | default=\"example.com\"\n    path: string | default=\"/\"", ""},
		"an object in an object":    {"spec:\n  user:\n    name: string\n    address: # where\n      street: string\n      city: string\n    contacts: \"[]string\" # how", ""},
		"a list":                    {`spec: {ports: "[]integer", names: "[]string", flags: "[]boolean"}`, ""},
		"a list without quotes":     {"spec:\n  tags: []string\n  ports: []integer", "put quotes around a type that begins with []"},
		"a map":                     {`spec: {labels: "map[string]string", metrics: "map[string]float"}`, ""},
		"lists and maps in both":    {`spec: {matrix: "[][]integer", tags: "map[string][]string", configs: "[]map[string]string"}`, ""},
		"a map of a type":           {"spec:\n  env: \"map[string]myType\"\ntypes:\n  myType:\n    value1: string | required=true\n    value2: integer | default=42", ""},
		"a list of a type":          {"types:\n  Person:\n    name: string\n    age: integer\nspec:\n  people: '[]Person | required=true'", ""},
		"types of types":            {"types:\n  Address: {street: string, city: string}\n  Company: {name: string, headquarters: Address}\n  Employee: {name: string, company: Company}\nspec:\n  ceo: Employee", ""},
		"types in a cycle":          {"types:\n  Person: {name: string, employer: Company}\n  Company: {name: string, employees: \"[]Person\"}\nspec: {boss: Person}", "contains itself"},
		"a default and required":    {`spec: {name: 'string | required=true default="app" description="Application name"'}`, ""},
		"enum":                      {`spec: {mode: 'string | enum="debug,info,warn,error" default="info"'}`, ""},
		"a pattern, escaped":        {`spec: {email: 'string | pattern="^[\\w\\.-]+@[\\w\\.-]+\\.\\w+$" required=true'}`, ""},
		"a pattern":                 {`spec: {email: 'string | pattern="^[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}$" description="Valid address"'}`, ""},
		"lengths":                   {`spec: {country: 'string | pattern="^[A-Z]{2}$" minLength=2 maxLength=2'}`, ""},
		"fractions":                 {"spec: {price: float | minimum=0.01 maximum=999.99}", ""},
		"items":                     {`spec: {tags: '[]string | uniqueItems=true minItems=1 maxItems=10 description="1-10 unique tags"', ports: '[]integer | uniqueItems=true minItems=1', comments: '[]string | uniqueItems=false maxItems=50', priorities: '[]integer | minItems=0 maxItems=3'}`, ""},
		"several bars":              {"spec: {name: string | required=true | minLength=1}", ""},
		"a validation":              {`spec: {name: 'string | maxLength=9 validation="self.startsWith(\"a\")"'}`, ""},
		"printColumn":               {"spec:\n  image: string | default=\"nginx\" printColumn=\"CONTAINERIMAGE\"\n  ingress: {enabled: boolean | default=false printColumn=\"ENABLED\"}", ""},
		"printColumn of a type":     {"spec: {ingress: Settings}\ntypes:\n  Settings: {className: string | printColumn=\"CLASSNAME\", enabled: boolean | printColumn=\"ENABLED\"}", ""},
		"a scope":                   {"scope: Cluster\nspec: {name: string}", ""},
		"columns":                   {"spec: {image: string}\nadditionalPrinterColumns:\n- {jsonPath: .spec.image, name: Image, type: string}", "write columns, a list of {name: …, value: .spec.…}"},
		"the kind":                  {"apiVersion: v1alpha1\nspec: {image: string}", "spec.parent names the kind: write apiVersion and kind there"},
		"a group":                   {"group: example.com\nspec: {image: string}", "spec.parent names the kind: write apiVersion and kind there"},
		"expressions":               {"spec: {image: string}\nstatus: {replicas: \"${deployment.status.availableReplicas}\"}", "a field of a schema is a type, and this is an expression; the expressions of the status stand in spec.status"},
		"the first example":         {"scope: Namespaced  # or \"Cluster\" for cluster-scoped instances\nspec:\n  # Basic types\n  name: string | required=true immutable=true description=\"My Name\"\n  replicas: integer | default=1 minimum=1 maximum=100\n  image: string | required=true\n\n  # Unstructured objects\n  values: object | required=true\n\n  # Structured type\n  ingress:\n    enabled: boolean | default=false\n    host: string | default=\"example.com\"\n    path: string | default=\"/\"\n\n  # Array type\n  ports: \"[]integer\"\n\n  # Map type\n  env: \"map[string]myType\"\n\n# Custom Types\ntypes:\n  myType:\n    value1: string | required=true\n    value2: integer | default=42", ""},
		"names for kubectl":         {"shortNames:\n- wa\n- webapp\ncategories:\n- kro\nspec: {name: string}", ""},
		"labels":                    {"metadata:\n  labels: {team: platform}\n  annotations: {description: \"Application resource\"}\nspec: {name: string | required=true}", "Kanon sets no labels and no annotations on the definition, and keeps those that others set, as with kubectl label"},
		"names of objects":          {"metadata:\n  nameValidation: maxLength=30 pattern=\"^[a-z][a-z0-9-]*$\"\nspec: {name: string}", "for names of objects, write validations: [{self: Object, rule: size(self.metadata.name) <= 30}]"},
		"names of objects, as said": {"spec: {name: string}\nvalidations: [{self: Object, rule: size(self.metadata.name) <= 30}]", ""},
		"a plural":                  {"plural: podinfos\nspec: {name: string}", ""},
		"a schema of OpenAPI":       {"spec:\n  awsTags:\n    type: object\n    additionalProperties: {type: string}\n    default: {auto-delete: \"no\"}", "this is a schema of OpenAPI, and a mapping has fields here"},
		"fields with its words":     {"spec: {config: {type: string, name: string | required=true}}", ""},
		"numbers as text":           {"spec: {tenantId: string, image: string | default=100, replicas: integer | default=2}", ""},
		"objects in all":            {`spec: {a: "[]object", b: "map[string]object", c: "[][]float", d: "map[string]map[string]integer", e: 'object | default={"a":"b"}', f: 'integer | enum="400,404,500" default=500'}`, ""},
		"a default of a list":       {`spec: {ports: "[]integer | default=[80]"}`, ""},
		"a type in both":            {"types:\n  ContainerConfig:\n    image: string | required=true\n    tag: string | default=\"latest\"\n    env: \"map[string]string\"\nspec:\n  primary: ContainerConfig\n  sidecars: \"[]ContainerConfig\"", ""},
		"a field called as a type":  {"spec: {password: 'string | minLength=8 description=\"Password must be at least 8 characters\"'}", ""},
		"roles":                     {`spec: {roles: '[]string | uniqueItems=true minItems=1 maxItems=5 required=true description="1-5 unique user roles"'}`, ""},
		"columns of the status":     {"spec:\n  image: string | default=\"nginx\" printColumn=\"IMAGE\"\nadditionalPrinterColumns:\n- jsonPath: .status.availableReplicas\n  name: Available replicas\n  type: integer", "write columns, a list of {name: …, value: .spec.…}"},
		"a structured status":       {"spec: {image: string}\nstatus:\n  replicas: ${deployment.status.replicas}\n  connection:\n    host: ${service.spec.clusterIP}\n    port: ${service.spec.ports[0].port}\n    protocol: \"TCP\"\n  endpoints:\n  - ${service.status.loadBalancer.ingress[0].hostname}", "a field of a schema is a type, and this is an expression; the expressions of the status stand in spec.status"},
		"a literal before it":       {"spec: {image: string}\nstatus:\n  connection:\n    protocol: \"TCP\"\n    host: ${service.spec.clusterIP}", "the expressions of the status stand in spec.status"},
		"its own conditions":        {"spec: {replicas: integer}\nstatus:\n  conditions:\n  - ${runtime.newCondition(deployment)}", "an expression; the conditions that the rule sets stand in spec.conditions"},
		"types of conditions":       {"spec: {replicas: integer}\nstatus:\n  conditions: \"[]string\"", "status.conditions is the list in which Kanon reports on the object, and this has no room for that; leave it out"},
		"text with expressions":     {"spec: {image: string}\nstatus: {url: \"https://${service.metadata.name}.svc\"}", "a field of a schema is a type, and this is an expression"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs, findings := syntax.Decode("rule.yaml", []byte(`apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: example}
spec:
  parent:
    apiVersion: example.com/v1alpha1
    kind: WebApplication
    schema:
      `+strings.ReplaceAll(test.schema, "\n", "\n      ")+"\n"))
			var text string
			for _, f := range findings {
				text += f.String() + "\n"
			}
			if test.want != "" {
				if !strings.Contains(text, test.want) || len(findings) != 1 {
					t.Errorf("the findings lack %q:\n%s", test.want, text)
				}
				return
			}
			if text != "" || len(docs.CRDs) != 1 {
				t.Fatal(text)
			}
			for _, p := range definitions.Check(t.Context(), docs.CRDs[0]) {
				t.Errorf("the API server refuses it: %s", p.Message)
			}
		})
	}
}
