package docs

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"kanon.dev/kanon/rules/language"
)

var update = flag.Bool("update", false, "rewrite what the pages have from the program")

// fieldTable is a table of the reference, made of the fields of a mapping in a rule.
type fieldTable struct {
	fields language.Fields
	// with names the fields whose own fields stand in the table too.
	with string
	// rule is the least rule that has the mapping, with @ in its place, and least what the mapping needs to have.
	rule, least string
}

// tables are those of the reference, by the names that the pages have for them.
func tables() map[string]fieldTable {
	const kind = "apiVersion: v1, kind: ConfigMap"
	const child = "id: a, template: {" + kind + ", metadata: {name: a}}"
	spec := func(rest string) string {
		return "{apiVersion: kanon.dev/v1alpha1, kind: Rule, metadata: {name: a}, spec: {parent: {" + kind + "}, " + rest + "}}"
	}
	inParent := func(rest string) string {
		return "{apiVersion: kanon.dev/v1alpha1, kind: Rule, metadata: {name: a}, spec: {parent: {" + kind + ", " + rest + "}}}"
	}
	nothing := "{}"
	ofVersion := slices.DeleteFunc(slices.Clone(language.At("spec.parent.schema.versions")), func(f language.Field) bool { return language.At("spec.parent.schema").Field(f.Name) != nil })
	return map[string]fieldTable{
		"document":       {language.Document().Fields, "metadata", `"@"`, "{apiVersion: kanon.dev/v1alpha1, kind: Rule, metadata: {name: a}, spec: {parent: {" + kind + "}}}"},
		"spec":           {language.At("spec"), "", `{apiVersion: kanon.dev/v1alpha1, kind: Rule, metadata: {name: a}, spec: "@"}`, "{parent: {" + kind + "}}"},
		"parent":         {language.At("spec.parent"), "", `{apiVersion: kanon.dev/v1alpha1, kind: Rule, metadata: {name: a}, spec: {parent: "@"}}`, "{" + kind + "}"},
		"selector":       {language.Selector(), "matchExpressions", inParent(`selector: "@"`), "{matchExpressions: [{key: a, operator: Exists}]}"},
		"variables":      {language.Variable(), "", spec(`variables: ["@"]`), "{name: a, value: b}"},
		"lookups":        {language.At("spec.lookups"), "", spec(`lookups: ["@"]`), "{id: a, " + kind + "}"},
		"children":       {language.At("spec.children"), "", spec(`children: ["@"]`), "{" + child + "}"},
		"forEach":        {append(language.Dimension(), language.SameAs()...), "", "", ""},
		"deletionPolicy": {language.Deletion(), "", spec(`children: [{` + child + `, deletionPolicy: "@"}]`), nothing},
		"ignore":         {language.Ignore(), "", spec(`children: [{` + child + `, ignore: ["@"]}]`), `{path: spec, when: "${true}"}`},
		"rollout":        {language.Rollout(), "", spec(`children: [{` + child + `, rollout: "@"}]`), nothing},
		"patches":        {language.At("spec.patches"), "target", spec(`patches: ["@"]`), "{id: a, template: {}, target: {" + kind + "}}"},
		"conditions":     {language.At("spec.conditions"), "", spec(`conditions: ["@"]`), "{type: A, status: true}"},
		"events":         {language.At("spec.events"), "", spec(`events: ["@"]`), "{reason: A, message: b}"},
		"finalize":       {language.At("spec.finalize"), "", spec(`finalize: "@"`), nothing},
		"schema":         {language.At("spec.parent.schema"), "", inParent(`schema: "@"`), nothing},
		"versions":       {ofVersion, "", inParent(`schema: {versions: ["@"]}`), "{name: v1}"},
		"validations":    {language.Validation(), "", inParent(`schema: {validations: ["@"]}`), "{rule: a}"},
		"columns":        {language.Column(), "", inParent(`schema: {columns: ["@"]}`), "{name: a, value: .b}"},
		"scale":          {language.Scale(), "", inParent(`schema: {scale: "@"}`), "{specReplicas: .a, statusReplicas: .b}"},
	}
}

// The tables of fields in the reference are those of the language. With -update they are written.
func TestFieldTables(t *testing.T) {
	t.Parallel()
	var examples map[string]map[string]string
	if err := yaml.UnmarshalStrict([]byte(read(t, "testdata/fields.yaml")), &examples); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("reference/*.md")
	if err != nil {
		t.Fatal(err)
	}
	anchors := headings(t, pages)
	found := map[string]bool{}
	marked := regexp.MustCompile(`(?s)(<!-- fields: (\w+) -->\n).*?(\n<!-- end of fields -->\n)`)
	for _, page := range pages {
		is := read(t, page)
		wanted := marked.ReplaceAllStringFunc(is, func(text string) string {
			parts := marked.FindStringSubmatch(text)
			table, ok := tables()[parts[2]]
			if !ok {
				t.Errorf("%s: there is no table %s", page, parts[2])
				return text
			}
			found[parts[2]] = true
			return parts[1] + table.markdown(t, examples[parts[2]], sections(parts[2], filepath.Base(page), anchors)) + "\n" + parts[3]
		})
		if *update && wanted != is {
			if err := os.WriteFile(page, []byte(wanted), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if diff := cmp.Diff(wanted, is); diff != "" {
			t.Errorf("%s is not current; run go test ./docs -update (-want +got):\n%s", page, diff)
		}
	}
	for name := range tables() {
		if !found[name] {
			t.Errorf("no page has the table %s", name)
		}
	}
}

// Every field of a rule is in a table.
func TestEveryFieldHasATable(t *testing.T) {
	t.Parallel()
	tabled := map[string]bool{}
	for _, table := range tables() {
		for _, row := range table.rows() {
			tabled[row.field.Name+": "+row.field.Doc] = true
		}
	}
	var walk func(typ *language.Type)
	walk = func(typ *language.Type) {
		for _, form := range typ.Forms() {
			for i := range form.Fields {
				field := &form.Fields[i]
				if !tabled[field.Name+": "+field.Doc] {
					t.Errorf("no table has %s: %s", field.Name, field.Doc)
				}
				walk(&field.Type)
			}
			walk(form.Items)
		}
	}
	walk(language.Document())
}

// fieldRow is a row of a table: the field, and its path in the mapping.
type fieldRow struct {
	path  string
	field *language.Field
}

func (table fieldTable) rows() []fieldRow {
	var rows []fieldRow
	for i := range table.fields {
		field := &table.fields[i]
		rows = append(rows, fieldRow{field.Name, field})
		if field.Name != table.with {
			continue
		}
		below := field.Type.Fields
		if field.Type.Form == language.List {
			below = field.Type.Items.Fields
		}
		for j := range below {
			rows = append(rows, fieldRow{field.Name + "." + below[j].Name, &below[j]})
		}
	}
	return rows
}

// markdown is the table as a page has it. Each field has an example, which is allowed in a rule, and a link to its section if it has one.
func (table fieldTable) markdown(t *testing.T, examples map[string]string, section func(path string) string) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("| field | meaning | type | default | example |\n| --- | --- | --- | --- | --- |")
	rest := maps.Clone(examples)
	for _, row := range table.rows() {
		example := examples[row.path]
		delete(rest, row.path)
		table.check(t, row.path, example)
		name := "`" + row.path + "`"
		if link := section(row.path); link != "" {
			name = "[" + name + "](" + link + ")"
		}
		meaning, byDefault := row.field.Doc, "none"
		if before, after, ok := strings.Cut(row.field.Doc, " Default: "); ok {
			end := strings.Index(after+" ", ". ")
			if end < 0 {
				end = len(after) - 1
			}
			meaning, byDefault = before+strings.TrimPrefix(after[end:], "."), after[:end]
		}
		switch {
		case row.field.Default != "":
			byDefault = "`" + row.field.Default + "`"
		case row.field.Required:
			byDefault = "required"
		}
		fmt.Fprintf(&out, "\n| %s | %s | %s | %s | %s |", name, meaning, describe(&row.field.Type), byDefault, "`"+strings.ReplaceAll(example, "|", `\|`)+"`")
	}
	for path := range rest {
		t.Errorf("testdata/fields.yaml has an example for %s, which is not a field of the table", path)
	}
	return out.String()
}

// check holds that an example is an example of the field, and allowed by the schema of a rule.
func (table fieldTable) check(t *testing.T, path, example string) {
	t.Helper()
	var written map[string]any
	if err := yaml.Unmarshal([]byte(example), &written); err != nil || len(written) != 1 {
		t.Errorf("%s: the example is %q: %v", path, example, err)
		return
	}
	names := strings.Split(path, ".")
	value, ok := written[names[len(names)-1]]
	if !ok {
		t.Errorf("%s: the example is of another field: %s", path, example)
	}
	if table.rule == "" {
		return
	}
	var least map[string]any
	if err := yaml.Unmarshal([]byte(table.least), &least); err != nil {
		t.Fatal(err)
	}
	at := least
	for _, name := range names[:len(names)-1] {
		switch below := at[name].(type) {
		case map[string]any:
			at = below
		case []any:
			at = below[0].(map[string]any) //nolint:forcetypeassert // as the table has it
		}
	}
	at[names[len(names)-1]] = value
	text, err := json.Marshal(least)
	if err != nil {
		t.Fatal(err)
	}
	rule, err := yaml.YAMLToJSON([]byte(strings.Replace(table.rule, `"@"`, string(text), 1)))
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(rule))
	if err != nil {
		t.Fatal(err)
	}
	if err := ruleSchema(t).Validate(document); err != nil {
		t.Errorf("%s: the example %s is not allowed: %v", path, example, err)
	}
}

func ruleSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(language.JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("rule.json", document); err != nil {
		t.Fatal(err)
	}
	return compiler.MustCompile("rule.json")
}

// headings are those of the pages, each with its place. Those of pages that are about one field count as its name.
func headings(t *testing.T, pages []string) map[string]string {
	t.Helper()
	found := map[string]string{"spec.children": "children.md", "spec.patches": "patches.md", "schema": "schema.md"}
	for _, page := range pages {
		for line := range strings.Lines(read(t, page)) {
			if hashes, heading, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.Trim(hashes, "#") == "" {
				found[heading] = filepath.Base(page) + "#" + anchor(heading)
			}
		}
	}
	return found
}

// sections finds the section about a field of a table, from a page. Only the fields of spec and of a child have one.
func sections(table, page string, headings map[string]string) func(path string) string {
	prefix, ok := map[string]string{"spec": "spec.", "children": "", "parent": ""}[table]
	return func(path string) string {
		if !ok || table == "parent" && path != "schema" {
			return ""
		}
		return strings.TrimPrefix(headings[prefix+path], page)
	}
}

// describe is a type as people read it.
func describe(typ *language.Type) string {
	var forms []string
	for _, form := range typ.Forms() {
		forms = append(forms, describeForm(form))
	}
	return strings.Join(forms, ", or ")
}

func describeForm(typ *language.Type) string {
	text := map[language.Form]string{
		language.Text: "text", language.Boolean: "true or false", language.Number: "number", language.Mapping: "mapping", language.Texts: "texts by name",
		language.Object: "template", language.Anything: "any value", language.ShortSchema: "types by name",
	}[typ.Form]
	switch {
	case typ.Form == language.List:
		text = "list of " + describe(typ.Items)
	case len(typ.Words) > 0:
		text = "`" + strings.Join(typ.Words, "`, `") + "`"
	case typ.Gives == "duration":
		text = "duration"
	case typ.Form == language.Text && typ.Expressions == language.Required:
		return "expression: " + typ.Gives
	}
	if typ.Expressions == language.Allowed && typ.Form == language.Text {
		text += ", or expression"
	}
	return text
}
