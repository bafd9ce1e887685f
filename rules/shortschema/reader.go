package shortschema

import (
	"maps"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// maxSchemas bounds the number of fields of one kind after its types are resolved: ten times as many as a Pod has.
const maxSchemas = 5_000

// Reader makes the schemas of one kind. It is not safe for concurrent use.
type Reader struct {
	Places
	report func(at diagnostic.Position, code diagnostic.Code, format string, args ...any) *diagnostic.Finding
	// own are the types that the rule defines for the kind. They are resolved in each field that uses them.
	own map[string]named
	// open is the stack of own types that are being resolved.
	open []string
	// cyclic has the own types that were reported because they contain themselves.
	cyclic  map[string]bool
	columns []any
	// repeated counts the lists and maps around the field that is being read. Fields below them have no column.
	repeated int
	// constraints counts the fields around the current one that may forbid an object to have all of its fields at once:
	// those with a validation or maxProperties.
	constraints int
	// roots has the schemas of spec and status.
	roots map[string]*made
	// reported has the positions for which reportOnce reported a problem.
	reported map[diagnostic.Position]bool
	// schemas counts the fields. tooMany is true once it was reported that there are more than maxSchemas.
	schemas int
	tooMany bool
}

// NewReader returns a Reader. types is the mapping of the kind's own types, and may be nil. report is called with each
// finding.
func NewReader(source *yamltree.Source, types *yamltree.Node, report func(at diagnostic.Position, code diagnostic.Code, format string, args ...any) *diagnostic.Finding) *Reader {
	r := &Reader{
		Places: newPlaces(source), report: report, own: map[string]named{}, cyclic: map[string]bool{},
		roots: map[string]*made{}, reported: map[diagnostic.Position]bool{},
	}
	if types != nil {
		r.define(types)
	}
	return r
}

// Columns returns the columns of the fields that were read, as a definition has them.
func (r *Reader) Columns() []any { return r.columns }

// Root returns the schema of spec or of status, whichever the path ends in. Complete completes it.
func (r *Reader) Root(n *yamltree.Node, path ...string) map[string]any {
	name := path[len(path)-1]
	if at := expressionIn(n); name == "status" && at != nil {
		found := r.reportExpression(at)
		if conditions := n.Get("conditions"); conditions != nil && expressionIn(conditions) == at {
			found.WithHint("the conditions that the rule sets stand in spec.conditions, each with type, status, reason and message")
		}
		return map[string]any{"type": "object"}
	}
	var root *made
	if asIs := openAPIOf(n); asIs != nil {
		root = r.openAPI(asIs, path)
		if root.schema["type"] != "object" {
			r.report(r.source.At(asIs), diagnostic.CodeShortType, "%s is an object: its openAPI needs type: object", name)
		}
	} else if r.isBareOpenAPI(n) {
		return map[string]any{"type": "object"}
	} else {
		root = r.object(n, path)
	}
	if name == "status" {
		r.checkConditions(n, root)
	}
	r.roots[name] = root
	return root.schema
}

// Complete gives spec a default if it can have one, and returns the validations of whole objects, which forbid to
// remove spec or status while they have immutable fields. Call it once, after Root and after the validations of spec
// are in its schema.
func (r *Reader) Complete() []any {
	whole := &made{schema: map[string]any{}}
	for _, name := range []string{"spec", "status"} {
		root := r.roots[name]
		if root == nil {
			continue
		}
		if name == "spec" {
			// The definition requires spec if spec has required fields.
			root.required = root.schema["required"] != nil
			root.addDefault()
		}
		r.addImmutable(whole, name, root)
	}
	rules, _ := whole.schema["x-kubernetes-validations"].([]any)
	return rules
}

// Object returns the schema of an object with the fields of a mapping. path is the place of the schema in the
// definition.
func (r *Reader) Object(n *yamltree.Node, path ...string) map[string]any {
	return r.object(n, path).schema
}

// object is Object, with the immutable fields too.
func (r *Reader) object(n *yamltree.Node, path []string) *made {
	f := &made{schema: map[string]any{"type": "object"}, base: object}
	r.Mark(r.source.At(n), path...)
	if n.Kind != yamltree.Mapping {
		r.report(r.source.At(n), diagnostic.CodeShortType, "an object is a mapping of its fields, and this is %s", n.What())
		return f
	}
	properties, required := map[string]any{}, []any{}
	// Sorted by name, so that the result is the same for a text and for the Rule object made from it, whose fields have
	// no order.
	fields := slices.SortedFunc(slices.Values(r.named(n)), func(a, b named) int { return strings.Compare(a.name, b.name) })
	for _, named := range fields {
		at := append(slices.Clone(path), "properties", named.name)
		field := r.namedField(named, at)
		if field == nil {
			continue
		}
		if text := named.Comment(); text != "" && field.schema["description"] == nil {
			field.schema["description"] = text
		}
		r.checkWhole(field, r.source.At(named.Value))
		if r.constraints == 0 {
			field.addDefault()
		}
		r.addImmutable(f, named.name, field)
		properties[named.name] = field.schema
		if field.required {
			required = append(required, named.name)
		}
		if field.column != "" && r.repeated == 0 {
			r.columns = append(r.columns, map[string]any{"name": field.column, "type": columnType(field.schema), "jsonPath": kubectlPath(at)})
		}
	}
	if len(properties) > 0 {
		f.schema["properties"] = properties
	}
	if len(required) > 0 {
		f.schema["required"] = required
	}
	return f
}

// field returns the schema of a field. It returns nil after a finding.
func (r *Reader) field(n *yamltree.Node, path []string) *made {
	if r.schemas++; r.schemas > maxSchemas {
		if !r.tooMany {
			r.tooMany = true
			r.report(r.source.At(n), diagnostic.CodeTooManyValues, "the schema has more than %s fields once its types are resolved", diagnostic.Number(maxSchemas))
		}
		return nil
	}
	r.Mark(r.source.At(n), path...)
	if asIs := openAPIOf(n); asIs != nil {
		return r.openAPI(asIs, path)
	}
	if n.Kind == yamltree.Mapping {
		if r.isBareOpenAPI(n) {
			return nil
		}
		return r.object(n, path)
	}
	written, ok := n.Text()
	if !ok {
		f := r.report(r.source.At(n), diagnostic.CodeShortType, "a field is a type such as string, or a mapping of the fields of an object, and this is %s", n.What())
		if n.Kind == yamltree.Sequence {
			f.WithHint(`write a list in quotes, such as "[]string"`)
		}
		return nil
	}
	if strings.Contains(written, "${") && !strings.Contains(written, "|") {
		r.reportExpression(n)
		return nil
	}
	return r.written(n, written, path)
}

// written returns the schema of a field that is written as a type with markers.
func (r *Reader) written(n *yamltree.Node, text string, path []string) *made {
	parts := scan(text)
	if parts.broken != "" {
		r.report(r.source.Within(n, parts.brokenAt), diagnostic.CodeShortMarker, "%s", parts.broken)
		return nil
	}
	leave := r.enter(parts.markers)
	f := r.typ(n, parts.typ, parts.typeAt, path)
	leave()
	if f == nil {
		return nil
	}
	r.applyAll(n, f, parts.markers, path)
	return f
}

// typ returns the schema of a type. offset is the byte of the node's text at which the type begins.
func (r *Reader) typ(n *yamltree.Node, typ string, offset int, path []string) *made {
	at := r.source.Within(n, offset)
	if items, ok := strings.CutPrefix(typ, "[]"); ok {
		return r.container(n, list, items, offset+len("[]"), path)
	}
	if key, value, ok := cutMap(typ); ok {
		if key != "string" {
			found := r.report(at, diagnostic.CodeShortType, "the keys of a map are strings: write map[string]%s", value)
			found.Length = r.source.Span(n, offset, len(typ))
			found.WithEdit(at, "map["+key+"]", "map[string]")
			return nil
		}
		return r.container(n, mapping, value, offset+len("map[string]"), path)
	}
	if t, ok := typeOf(typ); ok {
		return &made{schema: maps.Clone(t.schema), base: t.base}
	}
	if own, ok := r.own[typ]; ok {
		if i := slices.Index(r.open, typ); i >= 0 {
			r.reportCycle(at, typ, r.open[i:])
			return nil
		}
		return r.resolve(own, path)
	}
	r.unknownType(at, typ)
	return nil
}

func (r *Reader) container(n *yamltree.Node, kind base, typ string, offset int, path []string) *made {
	name, below := "array", "items"
	if kind == mapping {
		name, below = "object", "additionalProperties"
	}
	r.repeated++
	defer func() { r.repeated-- }()
	of := r.typ(n, typ, offset, append(slices.Clone(path), below))
	if of == nil {
		return nil
	}
	r.checkWhole(of, r.source.Within(n, offset))
	f := &made{schema: map[string]any{"type": name, below: of.schema}, base: kind}
	f.addImmutableItems(of)
	return f
}

func (r *Reader) reportExpression(n *yamltree.Node) *diagnostic.Finding {
	found := r.report(r.source.At(n), diagnostic.CodeShortType, "a field of a schema is a type, and this is an expression")
	found.WithHint("the expressions of the status stand in spec.status, and Kanon takes the types from there")
	return found
}

// expressionIn returns the first scalar in a part of a schema that is an expression; nil if there is none. Expressions
// in markers do not count.
func expressionIn(n *yamltree.Node) *yamltree.Node {
	for n, isKey := range n.All() {
		if text, _ := n.Text(); !isKey && strings.Contains(text, "${") && !strings.Contains(text, "|") {
			return n
		}
	}
	return nil
}
