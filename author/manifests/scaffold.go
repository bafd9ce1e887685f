package manifests

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/language"
)

//go:embed template/*/*.yaml
var templates embed.FS

// The shapes of a new rule. Each is a folder in template/.
const (
	// ShapeKind is a new kind whose objects are turned into children.
	ShapeKind = "kind"
	// ShapeNamespace adds objects to Namespaces.
	ShapeNamespace = "namespace"
	// ShapeDecorator adds something to existing objects.
	ShapeDecorator = "decorator"
)

// ScaffoldShapes lists all shapes, the default first.
func ScaffoldShapes() []string { return []string{ShapeKind, ShapeNamespace, ShapeDecorator} }

// ScaffoldNames are the names in a new rule.
type ScaffoldNames struct {
	// Name is the name of the rule, in lower case, such as cache.
	Name string
	// Kind is the parent kind for ShapeKind. Default: Name in camel case.
	Kind string
	// Group is the API group of the kind, such as example.com. In the other shapes, it is the prefix of labels.
	Group string
}

// ScaffoldFiles makes the files of a new rule: the rule, with the schema of the parent's kind if that is new, a parent,
// tests that pass, and the JSON schema for editors. They are the templates in the shape's folder of template/ with the
// names filled in. The error says which name is invalid, or that the shape does not exist.
func ScaffoldFiles(shape string, n ScaffoldNames) ([]File, error) {
	switch {
	case !slices.Contains(ScaffoldShapes(), shape):
		return nil, fmt.Errorf("%q is no shape of a rule: write %s", shape, strings.Join(ScaffoldShapes(), ", "))
	case shape != ShapeKind && n.Kind != "":
		return nil, fmt.Errorf("a kind can be chosen for the shape %s only", ShapeKind)
	}
	if wrong := validation.IsDNS1035Label(n.Name); len(wrong) > 0 {
		return nil, fmt.Errorf("%q cannot be the name of a rule: write lower-case letters, digits and -, such as web-app", n.Name)
	}
	if wrong := validation.IsDNS1123Subdomain(n.Group); len(wrong) > 0 || !strings.Contains(n.Group, ".") {
		return nil, fmt.Errorf("%q cannot be an API group: write a domain, such as shop.example.com", n.Group)
	}
	if n.Kind == "" {
		n.Kind = camel(n.Name)
	}
	singular := strings.ToLower(n.Kind)
	if wrong := validation.IsDNS1035Label(singular); len(wrong) > 0 || n.Kind[0] < 'A' || n.Kind[0] > 'Z' {
		return nil, fmt.Errorf("%q cannot be a kind: write letters and digits, with a capital first, such as WebApp", n.Kind)
	}
	fill := strings.NewReplacer("GROUP", n.Group, "SINGULAR", singular, "KIND", n.Kind, "NAME", n.Name)
	entries, err := templates.ReadDir("template/" + shape)
	if err != nil {
		return nil, fmt.Errorf("read the templates: %w", err)
	}
	var files []File
	for _, entry := range entries {
		text, err := templates.ReadFile("template/" + shape + "/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read the templates: %w", err)
		}
		files = append(files, File{Name: entry.Name(), Data: []byte(fill.Replace(string(text)))})
	}
	return append(files, File{Name: language.JSONSchemaPath, Data: language.JSONSchema()}), nil
}

// camel converts a name to camel case: web-app becomes WebApp.
func camel(name string) string {
	var out strings.Builder
	for part := range strings.SplitSeq(name, "-") {
		if part != "" {
			out.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return out.String()
}
