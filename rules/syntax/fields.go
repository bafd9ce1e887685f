package syntax

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/yamltree"
)

// object decodes a mapping with the fields of the language, and returns the incomplete ones. It reports each unknown
// field and each missing one. A misspelt field is decoded as the field that is probably meant, so that the mistakes in
// it are found as well.
func (d *decoder) object(n *yamltree.Node, path string, fields language.Fields, decode func(*language.Field, *yamltree.Node)) Gaps {
	found := Gaps{}
	if n.Kind != yamltree.Mapping {
		d.report(n, diagnostic.CodeFieldType, "%s must be a mapping, and is %s", orDocument(path), n.What())
		for _, name := range fields.Names() {
			found[name] = true
		}
		return found
	}
	for _, name := range n.Lost {
		found[name] = true
	}
	read := func(name string, value *yamltree.Node) {
		before := len(d.findings)
		decode(fields.Field(name), value)
		if len(d.findings) > before || value.Partial {
			found[name] = true
		}
	}
	meant := map[string]*yamltree.Node{}
	for _, f := range n.Fields {
		if fields.Field(f.Name) != nil {
			read(f.Name, f.Value)
			continue
		}
		unknown := d.report(f.Key, diagnostic.CodeUnknownField, "unknown field %q in %s", f.Name, orDocument(path))
		target, hint := foreignField(path, f.Name)
		if hint == "" {
			hint = misplacedField(n, path, f)
		}
		if unknown.Hint = hint; hint == "" {
			target = d.nearField(unknown, n, f.Name, fields, meant)
		}
		if fields.Field(target) != nil && !n.Has(target) && meant[target] == nil {
			meant[target] = f.Key
			unknown.WithEdit(unknown.Position, f.Name, target)
			read(target, f.Value)
		}
	}
	for _, field := range fields {
		if field.Required && !n.Has(field.Name) && meant[field.Name] == nil {
			f := d.report(n, diagnostic.CodeMissingField, "%s is missing %s", orDocument(path), field.Name)
			if field.Name == "apiVersion" {
				f.WithHint("write the group and the version of the kind, as in apps/v1; the core group has only a version, v1")
			}
			found[field.Name] = true
		}
	}
	return found
}

// nearField is the field that is probably meant by an unknown one, and adds it to the finding. meant are the unknown
// fields that already stand for a known one.
func (d *decoder) nearField(unknown *diagnostic.Finding, n *yamltree.Node, name string, fields language.Fields, meant map[string]*yamltree.Node) string {
	near, ok := diagnostic.NearestWord(name, fields.Names())
	switch {
	case name == "name" && fields.Field("id") != nil && !n.Has("id"):
		unknown.WithHint("write id")
		return "id"
	case !ok:
		return ""
	case !n.Has(near) && meant[near] == nil:
		unknown.WithHint("did you mean %q?", near)
	default:
		unknown.WithHint("%s is there already: move to it what belongs there, and remove %s", near, name)
		if first := cmp.Or(n.KeyOf(near), meant[near]); first != nil {
			unknown.WithRelated(d.src.At(first), "%s is here", near)
		}
	}
	return near
}

func orDocument(path string) string {
	if path == "" {
		return "the document"
	}
	return path
}

// misplacedField is a hint for a field that is one level too high or too low.
func misplacedField(n *yamltree.Node, path string, f yamltree.Field) string {
	switch {
	case path == "" && !n.Has("spec") && slices.Contains([]string{"parent", "children", "status", "lookups", "variables"}, f.Name):
		return f.Name + " belongs below spec"
	case strings.HasSuffix(path, "elector") && f.Value.Kind == yamltree.Scalar:
		return fmt.Sprintf("write matchLabels: {%s: …}", f.Name)
	case strings.Contains(path, ".forEach[") && !n.Has("name") && len(n.Fields) == 1:
		return fmt.Sprintf("write {name: %s, in: …}", f.Name)
	case strings.HasPrefix(path, "spec.lookups[") && f.Name == "metadata":
		return "the name and the namespace of a lookup belong beside its kind"
	}
	return ""
}

// QuotesHint is the hint for scalars that YAML does not read as strings.
const QuotesHint = "put quotes around it"

// SuggestQuotes adds QuotesHint and its edit to a finding at a scalar other than null. It does nothing for any other
// node.
func SuggestQuotes(f *diagnostic.Finding, n *yamltree.Node) {
	if n.Kind == yamltree.Scalar && n.Value != nil {
		f.WithHint(QuotesHint)
		f.WithEdit(f.Position, n.Literal(), strconv.Quote(n.Raw()))
	}
}

func (d *decoder) list(n *yamltree.Node, path string) []*yamltree.Node {
	if n.Kind != yamltree.Sequence {
		f := d.report(n, diagnostic.CodeFieldType, "%s must be a list, and is %s", path, n.What())
		if f.Hint = asListHint(n, path); strings.HasPrefix(f.Hint, "write [") && strings.HasSuffix(path, ".dependsOn") {
			f.WithEdit(f.Position, n.Literal(), "["+n.Literal()+"]")
		}
		return nil
	}
	return n.Items
}

func asListHint(n *yamltree.Node, path string) string {
	s, ok := n.Text()
	switch {
	case ok && strings.HasSuffix(path, ".forEach"):
		return fmt.Sprintf("write [{name: item, in: %q}]", s)
	case ok && (strings.HasSuffix(path, ".dependsOn") || strings.HasSuffix(path, ".ignore")):
		return fmt.Sprintf("write [%s]", s)
	case n.Kind == yamltree.Mapping:
		return "write - before each item"
	}
	return ""
}

func (d *decoder) plainString(n *yamltree.Node, path string) (string, bool) {
	s, ok := n.Text()
	switch {
	case n.Kind == yamltree.Scalar && !ok && n.Value != nil:
		f := d.report(n, diagnostic.CodeFieldType, "%s must be a string, and is %s", path, n.What())
		if takesAnyText(path) {
			SuggestQuotes(f, n)
		}
		return "", false
	case !ok:
		d.report(n, diagnostic.CodeFieldType, "%s must be a string, and is %s", path, n.What())
		return "", false
	case yamltree.HasExpression(s):
		d.strayExpression(n, path)
		return "", false
	case s == "":
		d.report(n, diagnostic.CodeEmpty, "%s is empty", path)
		return "", false
	}
	return s, true
}

func (d *decoder) textOrNothing(n *yamltree.Node, path string) string {
	text, _ := d.plainString(n, path)
	return text
}

// anyText checks a string that may be empty, and have expressions if the language allows them.
func (d *decoder) anyText(n *yamltree.Node, path string, expressions language.Expressions) {
	text, ok := n.Text()
	switch {
	case !ok:
		f := d.report(n, diagnostic.CodeFieldType, "%s must be a string, and is %s", path, n.What())
		if !strings.HasSuffix(path, ".reason") { // which is a word
			SuggestQuotes(f, n)
		}
	case expressions == language.None && yamltree.HasExpression(text):
		d.strayExpression(n, path)
	}
}

func (d *decoder) strayExpression(n *yamltree.Node, path string) {
	d.report(n, diagnostic.CodeStrayExpression, "%s cannot contain an expression", path).
		WithHint("write it out: it is read before there is a parent")
}

// takesAnyText reports whether a field allows a number or a boolean in quotes. Ids, kinds and paths do not.
func takesAnyText(path string) bool {
	return strings.HasPrefix(path, "metadata.") || strings.Contains(path, "amespaces[") || strings.Contains(path, ".values[") || strings.HasSuffix(path, ".key")
}

// IsExpressionText reports whether a node is text that contains an expression.
func IsExpressionText(n *yamltree.Node) bool {
	s, ok := n.Text()
	return ok && yamltree.HasExpression(s)
}

func (d *decoder) notExpression(n *yamltree.Node, path string) {
	s, _ := n.Text()
	f := d.report(n, diagnostic.CodeNotExpression, "%s must be an expression, such as ${…}, and is %s", path, n.What())
	if f.WithHint("%s", expressionHint(n)); begun.MatchString(s) {
		SuggestExpression(f, n, s)
	}
}

// begun matches the beginning of an expression that lacks its braces.
var begun = regexp.MustCompile(`^!?(?:parent|variables|lookups|children|observed|self|each)\.`)

// SuggestExpression adds an edit that puts ${ and } around the text of a scalar.
func SuggestExpression(f *diagnostic.Finding, n *yamltree.Node, text string) {
	switch {
	case !n.IsPlain():
		f.WithEdit(f.Position, text, "${"+text+"}")
	case strings.Contains(text, `"`):
		f.WithEdit(f.Position, text, "'${"+text+"}'")
	default:
		f.WithEdit(f.Position, text, `"${`+text+`}"`)
	}
}

// maxHintLength is the longest text that a hint repeats.
const maxHintLength = 60

func expressionHint(n *yamltree.Node) string {
	s, ok := n.Text()
	switch {
	case n.Kind == yamltree.Sequence && len(n.Items) > 1:
		return "write one expression, with && between the conditions"
	case n.Kind == yamltree.Sequence:
		return "write the expression without a list"
	case ok && s != "" && len(s) <= maxHintLength:
		return fmt.Sprintf("write ${%s}", s)
	}
	return ""
}

// meant is the field that stands for one of another engine, if Kanon has it, and a hint.
type meant struct{ target, hint string }

// foreignFields translates fields of other engines.
var foreignFields = map[string]meant{ //nolint:gochecknoglobals // a table
	"resources":         {"children", "the objects that a rule creates belong in spec.children"},
	"schema":            {"", "the schema of the parent's kind belongs in spec.parent.schema"},
	"sameAs":            {"", "write forEach: {sameAs: …}, with the id of the child whose items it has"},
	"includeWhen":       {"when", "write when"},
	"externalRef":       {"", "an object that the rule only reads belongs in spec.lookups, and is read as lookups.<id>"},
	"parentResource":    {"", "write parent, with the apiVersion and kind of the objects that the rule is for"},
	"childResources":    {"", "the objects that a rule creates belong in spec.children"},
	"attachments":       {"", "the objects that a rule creates belong in spec.children"},
	"composedTemplates": {"", "the objects that a rule creates belong in spec.children"},
	"hooks":             {"", "there are none: expressions in spec.children and spec.status say what the objects are"},
	"match":             {"", "write parent, with the apiVersion and kind of the objects that the rule is for, and a selector if not all are meant"},
	"patches":           {"", readsParent},
	"fromFieldPath":     {"", readsParent},
	"readinessChecks":   {"", readsParent},
	"labelSelector":     {"selector", "write selector"},
	"resource":          {"template", "write template"},
	"object":            {"template", "write template"},
	"manifest":          {"template", "write template"},
	"base":              {"template", "write template"},
}

const readsParent = "the template reads the parent with expressions, such as ${parent.spec.x}, and readyWhen says when the object is ready"

// foreignSchemaFields is foreignFields for spec.parent.schema.
var foreignSchemaFields = map[string]meant{ //nolint:gochecknoglobals // a table
	"apiVersion": {"", "spec.parent names the kind: write apiVersion and kind there"},
	"kind":       {"", "spec.parent names the kind: write apiVersion and kind there"},
	"group":      {"", "spec.parent names the kind: write apiVersion and kind there"},
	"metadata": {"", "Kanon sets no labels and no annotations on the definition, and keeps those that others set, as with kubectl label; " +
		"for names of objects, write validations: [{self: Object, rule: size(self.metadata.name) <= 30}]"},
	"additionalPrinterColumns": {"", "write columns, a list of {name: …, value: .spec.…}"},
	"jsonPath":                 {"value", "write value"},
	"fieldPath":                {"path", "write path"},
	"subresources":             {"", "there is always a status; scale stands beside spec"},
	"storage":                  {"stored", "write stored"},
	"deprecationWarning":       {"deprecated", "write deprecated"},
	"openAPIV3Schema":          {"", "write the fields below spec; a schema of OpenAPI may stand there as {openAPI: …}"},
}

// foreignField translates a field of another engine. target is the field that is meant, if Kanon has it.
func foreignField(path, name string) (target, hint string) {
	if strings.HasPrefix(path, schemaPath) {
		m := foreignSchemaFields[name]
		return m.target, m.hint
	}
	m := foreignFields[name]
	if path == "spec" && m.hint == readsParent || (path == "" || path == "spec") && m.target == "template" {
		return "", ""
	}
	return m.target, m.hint
}
