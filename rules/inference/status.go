package inference

import (
	"regexp"
	"strings"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/yamltree"
)

// Status is spec.status of a rule, compiled with the types that are known so far.
type Status struct {
	// Types has the types of the expressions.
	Types *check.Table
	// Scalar returns what the compiler found out about a scalar with expressions. It is false for a scalar that does not compile.
	Scalar func(n *yamltree.Node) (Scalar, bool)
}

// Scalar is a compiled scalar with expressions.
type Scalar struct {
	// Whole is the one expression of which the scalar consists; nil for text around expressions.
	Whole *check.Expression
	// Part is Whole in the text.
	Part scanner.Part
	// IsWrong is true if the compiler reported an error in the scalar.
	IsWrong bool
}

// scalar is the zero value for a node without expressions, and for one that does not compile.
func (s *Status) scalar(n *yamltree.Node) Scalar {
	scalar, _ := s.Scalar(n)
	return scalar
}

// isWrong reports whether an expression below a node does not compile. Compile reports these.
func (s *Status) isWrong(n *yamltree.Node) bool {
	for n := range n.All() {
		if text, _ := n.Text(); scanner.HasExpression(text) {
			if scalar, compiled := s.Scalar(n); !compiled || scalar.IsWrong {
				return true
			}
		}
	}
	return false
}

// hint says what to write in place of an expression whose values JSON does not have. It is empty if JSON may have them.
func (s *Status) hint(n *yamltree.Node) string {
	if x := s.scalar(n).Whole; x != nil {
		return x.UntypedHint()
	}
	return ""
}

// reads reports whether the expression of a scalar reads a path of the parent's status.
func (s *Status) reads(n *yamltree.Node, path []string) bool {
	own := regexp.QuoteMeta(flow.RootParent + ".status." + strings.Join(path, "."))
	text := strings.ReplaceAll(s.scalar(n).Part.Text, "?", "") // of optional reads
	return regexp.MustCompile(`\b` + own + `\b`).MatchString(text)
}

// schema is the schema of the values of a node; nil if it is not known.
func (s *Status) schema(n *yamltree.Node) *openapi.Schema {
	switch n.Kind {
	case yamltree.Mapping:
		return s.mapping(n)
	case yamltree.Sequence:
		var items []*openapi.Schema
		for _, item := range n.Items {
			of := s.schema(item)
			if scalar := s.scalar(item); scalar.Whole != nil && scalar.Part.Spread {
				of = scalar.Whole.Items(s.Types)
			}
			items = append(items, of)
		}
		return check.CollectionSchema(openapi.List, items)
	}
	text, isText := n.Text()
	if !isText || !scanner.HasExpression(text) {
		return check.ScalarSchema(check.ScalarType(n.Value).Kind())
	}
	switch scalar, compiled := s.Scalar(n); {
	case !compiled:
		return nil
	case scalar.Whole == nil: // text around expressions
		return &openapi.Schema{Type: openapi.String}
	default:
		return scalar.Whole.Written(s.Types)
	}
}

func (s *Status) mapping(n *yamltree.Node) *openapi.Schema {
	made := &openapi.Schema{Type: openapi.Object, Fields: map[string]*openapi.Field{}}
	var values []*openapi.Schema
	computed := false
	for _, f := range n.Fields {
		if f.Value.Kind == yamltree.Scalar && f.Value.Value == nil {
			continue // null leaves a field out
		}
		of := s.schema(f.Value)
		if of == nil {
			return nil
		}
		computed = computed || scanner.HasExpression(f.Name)
		values, made.Fields[f.Name] = append(values, of), &openapi.Field{Schema: of}
	}
	if computed || len(values) == 0 {
		return check.CollectionSchema(openapi.Map, values)
	}
	return made
}
