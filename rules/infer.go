package rules

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/inference"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Inference completes the definitions that come from spec.parent.schema: each field that spec.status sets gets the type of what its
// expression gives.
type Inference struct {
	// Schemas has the kinds that no rule of the documents defines.
	Schemas Schemas
	// Awaits reports whether the schema of a kind that Schemas lacks may still come; nil: none does.
	Awaits func(gvk schema.GroupVersionKind) bool
}

// Infer completes the definitions of the documents, between their decoding and Compile. A rule with a finding is partial from then
// on. A rule that waits for a kind has no finding, and Parent.Awaits names the kind.
func (in Inference) Infer(all ...*syntax.Documents) diagnostic.Findings {
	return inference.Infer(inference.Input{Schemas: in.Schemas, Awaits: in.Awaits, Compile: compileStatus}, all...)
}

// compileStatus compiles spec.status, and what it reads of the rule.
func compileStatus(r *syntax.Rule, schemas inference.Schemas) (inference.Status, error) {
	env, err := celenv.Shared()
	if err != nil {
		return nil, err
	}
	c := newCompiler(r, Options{Schemas: schemas}, env)
	c.declare()
	c.parent(&flow.Uses{})
	c.status(&flow.Uses{})
	return writtenStatus{types: c.types, results: c.results}, nil
}

// writtenStatus implements inference.Status.
type writtenStatus struct {
	types   *check.Table
	results map[*yamltree.Node]result
}

// IsWrong reports whether a part of the rule has an expression that does not compile, which Compile reports.
func (s writtenStatus) IsWrong(n *yamltree.Node) bool {
	switch n.Kind {
	case yamltree.Mapping:
		return slices.ContainsFunc(n.Fields, func(f yamltree.Field) bool { return s.IsWrong(f.Key) || s.IsWrong(f.Value) })
	case yamltree.Sequence:
		return slices.ContainsFunc(n.Items, s.IsWrong)
	}
	text, _ := n.Text()
	result, compiled := s.results[n]
	return scanner.HasExpression(text) && (!compiled || result.wrong)
}

// Hint is what to write in place of an expression whose values JSON does not have.
func (s writtenStatus) Hint(n *yamltree.Node) string {
	if x := s.results[n].x; x != nil {
		return x.UntypedHint()
	}
	return ""
}

// Reads reports whether the expression of a scalar reads a path of the parent's status.
func (s writtenStatus) Reads(n *yamltree.Node, path []string) bool {
	own := regexp.QuoteMeta(flow.RootParent + ".status." + strings.Join(path, "."))
	text := strings.ReplaceAll(s.results[n].part.Text, "?", "") // of optional reads
	return regexp.MustCompile(`\b` + own + `\b`).MatchString(text)
}

// Schema is the schema of what a part of the rule gives, after it was compiled; nil if that is not known.
func (s writtenStatus) Schema(n *yamltree.Node) *openapi.Schema {
	switch n.Kind {
	case yamltree.Mapping:
		return s.mapping(n)
	case yamltree.Sequence:
		var items []*openapi.Schema
		for _, item := range n.Items {
			of := s.Schema(item)
			if result := s.results[item]; result.x != nil && result.part.Spread {
				of = result.x.Items(s.types)
			}
			items = append(items, of)
		}
		return listOf(openapi.List, items)
	}
	text, isText := n.Text()
	if !isText || !scanner.HasExpression(text) {
		return scalarSchema(n.Value)
	}
	switch result, compiled := s.results[n]; {
	case !compiled:
		return nil
	case result.x == nil: // text around expressions
		return &openapi.Schema{Type: openapi.String}
	default:
		return result.x.Written(s.types)
	}
}

// scalarSchema is the schema of a scalar that is written out; nil for null.
func scalarSchema(value any) *openapi.Schema {
	switch value.(type) {
	case string:
		return &openapi.Schema{Type: openapi.String}
	case int64:
		return &openapi.Schema{Type: openapi.Integer}
	case float64:
		return &openapi.Schema{Type: openapi.Number}
	case bool:
		return &openapi.Schema{Type: openapi.Boolean}
	}
	return nil
}

func (s writtenStatus) mapping(n *yamltree.Node) *openapi.Schema {
	made := &openapi.Schema{Type: openapi.Object, Fields: map[string]*openapi.Field{}}
	var values []*openapi.Schema
	computed := false
	for _, f := range n.Fields {
		if f.Value.Kind == yamltree.Scalar && f.Value.Value == nil {
			continue // null leaves a field out
		}
		of := s.Schema(f.Value)
		if of == nil {
			return nil
		}
		computed = computed || scanner.HasExpression(f.Name)
		values, made.Fields[f.Name] = append(values, of), &openapi.Field{Schema: of}
	}
	if computed || len(values) == 0 {
		return listOf(openapi.Map, values)
	}
	return made
}

// listOf is a list or a map of items that have these schemas; nil if no one schema has all.
func listOf(typ openapi.Type, items []*openapi.Schema) *openapi.Schema {
	if len(items) == 0 {
		return nil
	}
	all := items[0]
	for _, item := range items[1:] {
		all = openapi.Join(all, item)
	}
	if all == nil {
		return nil
	}
	return &openapi.Schema{Type: typ, Items: all}
}
