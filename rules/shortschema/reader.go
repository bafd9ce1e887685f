package shortschema

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// maxSchemas bounds the schemas of one kind once its types are resolved: ten times as many as a Pod has.
const maxSchemas = 5_000

// Reader makes the schemas of one kind. It is not safe for concurrent use.
type Reader struct {
	source *yamltree.Source
	report func(at diagnostic.Position, code diagnostic.Code, format string, args ...any) *diagnostic.Finding
	// types are those of the kind, by their names, and open those that are being resolved.
	types map[string]named
	open  []string
	// cyclic are those that contain themselves, which was reported.
	cyclic map[string]bool
	// places has where the rule says what is at a path of the definition.
	places map[string]place
	// columns are the fields that have one, and repeated counts the lists and maps around what is read, whose fields have none.
	columns  []Column
	repeated int
	// whole stands for the object that has spec and status.
	whole *made
	// reported are the markers with which something was found to be wrong.
	reported map[diagnostic.Position]bool
	// schemas counts them, and tooMany is true once that was reported.
	schemas int
	tooMany bool
}

// Column is a column that kubectl get shows.
type Column struct {
	Title string
	// Type is that of the field: string, integer, number, boolean or date.
	Type string
	// Path leads to the field in the definition's schema.
	Path []string
}

// NewReader makes a Reader. types is the mapping of the kind's own types, and may be nil. report takes in each finding.
func NewReader(source *yamltree.Source, types *yamltree.Node, report func(at diagnostic.Position, code diagnostic.Code, format string, args ...any) *diagnostic.Finding) *Reader {
	r := &Reader{
		source: source, report: report, types: map[string]named{}, cyclic: map[string]bool{}, places: map[string]place{},
		whole: &made{schema: map[string]any{}}, reported: map[diagnostic.Position]bool{},
	}
	if types == nil {
		return r
	}
	if types.Kind != yamltree.Mapping {
		r.report(source.At(types), diagnostic.CodeFieldType, "types must be a mapping, and is %s", types.What())
		return r
	}
	for _, f := range r.named(types) {
		if t, ok := typeOf(f.name); ok {
			r.report(source.At(f.Key), diagnostic.CodeShortType, "%s is a type of every schema: %s", f.name, strings.TrimSuffix(t.Doc, ".")).WithHint("give your type another name")
			continue
		}
		r.types[f.name] = f
	}
	return r
}

// CheckTypes reads the types that no field has, so that mistakes in them are found.
func (r *Reader) CheckTypes() {
	columns := r.columns
	for _, name := range slices.Sorted(maps.Keys(r.types)) {
		r.resolve(r.types[name], nil)
	}
	r.columns = columns // are about fields
}

// Columns are the columns of the fields that were read.
func (r *Reader) Columns() []Column { return r.columns }

// place is where the rule says something.
type place struct {
	at diagnostic.Position
	// node is the scalar with an expression, which begins at the byte offset of its value; nil for everything else.
	node   *yamltree.Node
	offset int
}

// Place is where the rule says what is at a path of the definition, or at the beginning of that path; false if nothing is known of it. offset
// is the byte within an expression there.
func (r *Reader) Place(path []string, offset int) (diagnostic.Position, bool) {
	for n := len(path); n > 0; n-- {
		found, ok := r.places[placeKey(path[:n])]
		switch {
		case !ok:
			continue
		case found.node != nil && n == len(path) && offset > 0:
			return r.source.Within(found.node, found.offset+offset), true
		}
		return found.at, true
	}
	return diagnostic.Position{}, false
}

func placeKey(path []string) string { return strings.Join(path, "\x00") }

// Mark notes where the rule says what is at a path of the definition.
func (r *Reader) Mark(at diagnostic.Position, path ...string) {
	r.places[placeKey(path)] = place{at: at}
}

// MarkText is Mark for an expression, which begins at the byte offset of a scalar's value.
func (r *Reader) MarkText(n *yamltree.Node, offset int, path ...string) {
	r.places[placeKey(path)] = place{at: r.source.Within(n, offset), node: n, offset: offset}
}

// Root makes the schema of spec or of status.
func (r *Reader) Root(n *yamltree.Node, path ...string) map[string]any {
	name := path[len(path)-1]
	if at := expressionIn(n); name == "status" && at != nil {
		r.reportExpression(at)
		return map[string]any{"type": "object"}
	}
	var root *made
	if asIs := openAPIOf(n); asIs != nil {
		root = r.openAPI(asIs, path)
		if root.schema["type"] != "object" {
			r.report(r.source.At(asIs), diagnostic.CodeShortType, "%s is an object: its openAPI needs type: object", name)
		}
	} else if r.isMisnamed(n) {
		return map[string]any{"type": "object"}
	} else {
		root = r.object(n, path)
	}
	if name == "status" {
		r.checkConditions(n, root)
	}
	// As the definition requires spec if that has required fields.
	root.required = name == "spec" && root.schema["required"] != nil
	r.addImmutable(r.whole, name, root)
	return root.schema
}

// Validations are those of whole objects: that spec and status stay while they have immutable fields.
func (r *Reader) Validations() []any {
	rules, _ := r.whole.schema["x-kubernetes-validations"].([]any)
	return rules
}

// openAPIOf is the schema that is written as it is; nil if the node is something else.
func openAPIOf(n *yamltree.Node) *yamltree.Node {
	if n.Kind != yamltree.Mapping || len(n.Fields) != 1 {
		return nil
	}
	if asIs := n.Get("openAPI"); asIs != nil && asIs.Kind == yamltree.Mapping {
		return asIs
	}
	return nil
}

// isMisnamed reports a mapping that means OpenAPI and calls it another name, as it would be an object with one field.
func (r *Reader) isMisnamed(n *yamltree.Node) bool {
	if n.Kind != yamltree.Mapping || len(n.Fields) != 1 || n.Fields[0].Name == "openAPI" || n.Fields[0].Value.Kind != yamltree.Mapping {
		return false
	}
	f := n.Fields[0]
	if !strings.EqualFold(f.Name, "openAPI") && f.Name != "openAPIV3Schema" {
		return false
	}
	found := r.report(r.source.At(f.Key), diagnostic.CodeShortType, "%s is no field that a schema is written below", f.Name)
	found.WithHint("write openAPI")
	found.WithEdit(r.source.At(f.Key), f.Name, "openAPI")
	return true
}

// Object makes the schema of an object with the fields of a mapping. path is where it will be in the definition.
func (r *Reader) Object(n *yamltree.Node, path ...string) map[string]any {
	return r.object(n, path).schema
}

// object is Object, with what is to be known of its fields.
func (r *Reader) object(n *yamltree.Node, path []string) *made {
	f := &made{schema: map[string]any{"type": "object"}, base: object}
	r.Mark(r.source.At(n), path...)
	if n.Kind != yamltree.Mapping {
		r.report(r.source.At(n), diagnostic.CodeShortType, "an object is a mapping of its fields, and this is %s", n.What())
		return f
	}
	properties, required := map[string]any{}, []any{}
	// By name, so that the schema of a Rule object, whose fields have no order, is that of the text that it was made of.
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
		r.addImmutable(f, named.name, field)
		properties[named.name] = field.schema
		if field.required {
			required = append(required, named.name)
		}
		if field.column != "" && r.repeated == 0 {
			r.columns = append(r.columns, Column{Title: field.column, Type: columnType(field.schema), Path: at})
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

// columnType is the type of a column for a field.
func columnType(schema map[string]any) string {
	kind, _ := schema["type"].(string)
	if kind == "string" && schema["format"] == "date-time" {
		return "date"
	}
	if kind == "" {
		return "string"
	}
	return kind
}

// Leaf gives the schema of what a template has at a path, where it is no mapping with fields.
type Leaf func(n *yamltree.Node, path []string) map[string]any

// Set adds to a schema what a template sets, where the schema, which may be nil, does not have it: an object for each mapping, and what
// leaf gives for each other node. path is where the schema is in the definition.
func (r *Reader) Set(schema map[string]any, template *yamltree.Node, leaf Leaf, path ...string) map[string]any {
	return r.set(schema, template, leaf, nil, path)
}

// set is Set for what is at a path of the template.
func (r *Reader) set(schema map[string]any, template *yamltree.Node, leaf Leaf, at, path []string) map[string]any {
	if schema == nil {
		r.Mark(r.source.At(template), path...)
	}
	if template.Kind != yamltree.Mapping || len(template.Fields) == 0 || slices.ContainsFunc(template.Fields, isComputed) {
		if schema == nil {
			schema = leaf(template, at)
		}
		return schema
	}
	if schema == nil {
		schema = map[string]any{"type": "object"}
	}
	if schema["type"] != "object" || schema["additionalProperties"] != nil || schema["x-kubernetes-preserve-unknown-fields"] == true {
		return schema
	}
	properties, _ := schema["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
		schema["properties"] = properties
	}
	for _, f := range template.Fields {
		known, _ := properties[f.Name].(map[string]any)
		properties[f.Name] = r.set(known, f.Value, leaf, append(slices.Clone(at), f.Name), append(slices.Clone(path), "properties", f.Name))
	}
	return schema
}

// isComputed reports whether the name of a field comes from an expression.
func isComputed(f yamltree.Field) bool { return strings.Contains(f.Name, "${") }

// named is a field with what its name has behind a |.
type named struct {
	yamltree.Field
	name    string
	markers []marker
}

// named are the fields of a mapping. The name of one that is a mapping itself can have markers.
func (r *Reader) named(n *yamltree.Node) []named {
	fields := make([]named, 0, len(n.Fields))
	for _, f := range n.Fields {
		field := named{Field: f, name: f.Name}
		if strings.Contains(f.Name, "|") {
			parts := scan(f.Name)
			field.name, field.markers = parts.typ, parts.markers
			switch {
			case parts.broken != "":
				r.report(r.source.Within(f.Key, parts.brokenAt), diagnostic.CodeShortMarker, "%s", parts.broken)
				continue
			case parts.typ == "":
				r.report(r.source.At(f.Key), diagnostic.CodeShortType, "the name of the field is missing").WithHint("write it before the |")
				continue
			}
		}
		if slices.ContainsFunc(fields, func(other named) bool { return other.name == field.name }) {
			r.report(r.source.At(f.Key), diagnostic.CodeShortType, "there are two fields %s", field.name).WithHint("remove one of them")
			continue
		}
		fields = append(fields, field)
	}
	return fields
}

// namedField makes the schema of a field with the markers behind its name; nil if nothing can be made of it.
func (r *Reader) namedField(n named, path []string) *made {
	f := r.field(n.Value, path)
	if f == nil || len(n.markers) == 0 {
		return f
	}
	if text, isText := n.Value.Text(); isText {
		r.report(r.source.Within(n.Key, n.markers[0].at), diagnostic.CodeShortMarker, "the markers of %s stand behind its type", n.name).
			WithHint("write %s: %s", n.name, strings.TrimSpace(text)+strings.TrimPrefix(n.Name, n.name))
		return f
	}
	r.applyAll(n.Key, f, n.markers, path)
	return f
}

// field makes the schema of a field; nil if nothing can be made of it.
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
		if r.isMisnamed(n) {
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

func (r *Reader) reportExpression(n *yamltree.Node) {
	r.report(r.source.At(n), diagnostic.CodeShortType, "a field of a schema is a type, and this is an expression").
		WithHint("the expressions of the status stand in spec.status, and Kanon takes the types from there")
}

// expressionIn is the first scalar with an expression in a part of a schema; nil: there is none. An expression of a marker is none.
func expressionIn(n *yamltree.Node) *yamltree.Node {
	if text, ok := n.Text(); ok && strings.Contains(text, "${") && !strings.Contains(text, "|") {
		return n
	}
	for _, f := range n.Fields {
		if found := expressionIn(f.Value); found != nil {
			return found
		}
	}
	for _, item := range n.Items {
		if found := expressionIn(item); found != nil {
			return found
		}
	}
	return nil
}

// openAPI is a schema that is written as it is.
func (r *Reader) openAPI(n *yamltree.Node, path []string) *made {
	schema, _ := n.Plain().(map[string]any)
	r.markAll(n, path)
	return &made{schema: schema, base: raw}
}

func (r *Reader) markAll(n *yamltree.Node, path []string) {
	r.Mark(r.source.At(n), path...)
	for _, f := range n.Fields {
		r.markAll(f.Value, append(slices.Clone(path), f.Name))
	}
	for i, item := range n.Items {
		r.markAll(item, append(slices.Clone(path), strconv.Itoa(i)))
	}
}

// written makes the schema of a field that is a type with markers.
func (r *Reader) written(n *yamltree.Node, text string, path []string) *made {
	parts := scan(text)
	if parts.broken != "" {
		r.report(r.source.Within(n, parts.brokenAt), diagnostic.CodeShortMarker, "%s", parts.broken)
		return nil
	}
	f := r.typ(n, parts.typ, parts.typeAt, path)
	if f == nil {
		return nil
	}
	r.applyAll(n, f, parts.markers, path)
	return f
}

// typ makes the schema of a type. offset is where it begins in the text of the node.
func (r *Reader) typ(n *yamltree.Node, typ string, offset int, path []string) *made {
	at := r.source.Within(n, offset)
	if items, ok := strings.CutPrefix(typ, "[]"); ok {
		of := r.repeatedType(n, items, offset+2, append(slices.Clone(path), "items"))
		if of == nil {
			return nil
		}
		f := &made{schema: map[string]any{"type": "array", "items": of.schema}, base: list}
		f.addImmutableItems(of)
		return f
	}
	if key, value, ok := cutMap(typ); ok {
		if key != "string" {
			r.report(at, diagnostic.CodeShortType, "the keys of a map are strings: write map[string]%s", value)
			return nil
		}
		of := r.repeatedType(n, value, offset+len("map[string]"), append(slices.Clone(path), "additionalProperties"))
		if of == nil {
			return nil
		}
		f := &made{schema: map[string]any{"type": "object", "additionalProperties": of.schema}, base: mapping}
		f.addImmutableItems(of)
		return f
	}
	if t, ok := typeOf(typ); ok {
		return &made{schema: maps.Clone(t.schema), base: t.base}
	}
	if own, ok := r.types[typ]; ok {
		if slices.Contains(r.open, typ) {
			r.reportCycle(at, typ, r.open[slices.Index(r.open, typ):])
			return nil
		}
		return r.resolve(own, path)
	}
	r.unknownType(at, typ)
	return nil
}

// repeatedType makes the schema of the items of a list, or of the values of a map.
func (r *Reader) repeatedType(n *yamltree.Node, typ string, offset int, path []string) *made {
	r.repeated++
	defer func() { r.repeated-- }()
	of := r.typ(n, typ, offset, path)
	if of != nil {
		r.checkWhole(of, r.source.Within(n, offset))
	}
	return of
}

// resolve makes the schema of one of the kind's own types.
func (r *Reader) resolve(own named, path []string) *made {
	r.open = append(r.open, own.name)
	defer func() { r.open = r.open[:len(r.open)-1] }()
	return r.namedField(own, path)
}

// reportCycle reports that a type contains itself by way of others, once for these types.
func (r *Reader) reportCycle(at diagnostic.Position, typ string, cycle []string) {
	if r.cyclic[typ] {
		return
	}
	for _, name := range cycle {
		r.cyclic[name] = true
	}
	r.report(at, diagnostic.CodeShortType, "type %s contains itself (%s): a schema has an end", typ, strings.Join(append(slices.Clone(cycle), typ), " → ")).
		WithHint("write object where it would begin anew")
}

func (r *Reader) unknownType(at diagnostic.Position, typ string) {
	names := slices.Sorted(maps.Keys(r.types))
	for _, t := range Types() {
		names = append(names, t.Name)
	}
	switch other := foreign(typ); {
	case typ == "":
		r.report(at, diagnostic.CodeShortType, "the type is missing").WithHint("write it before the |, such as string | required")
	case other != "":
		f := r.report(at, diagnostic.CodeShortType, "unknown type %q", typ)
		f.WithHint("write %s", other)
		f.WithEdit(at, typ, other)
	case strings.ContainsAny(typ, "= "):
		r.report(at, diagnostic.CodeShortType, "unknown type %q", typ).WithHint("write | between the type and its markers")
	default:
		r.report(at, diagnostic.CodeShortType, "unknown type %q", typ).Suggest(typ, names)
	}
}

// applyAll applies the markers of a field, each of which counts once. Those of the field count more than those of its type.
func (r *Reader) applyAll(n *yamltree.Node, f *made, markers []marker, path []string) {
	for i, m := range markers {
		isSame := func(other marker) bool { return other.name == m.name }
		if !slices.Contains(repeatable, m.name) && slices.ContainsFunc(markers[:i], isSame) {
			found := r.report(r.source.Within(n, m.at), diagnostic.CodeShortMarker, "%s is given twice", m.name)
			found.Length = r.source.Span(n, m.at, len(m.name))
			found.WithHint("remove one of them")
			continue
		}
		r.apply(n, f, m, path)
	}
}

// reportUnknown reports a marker that nobody knows.
func (r *Reader) reportUnknown(n *yamltree.Node, m marker) {
	found := r.report(r.source.Within(n, m.at), diagnostic.CodeShortMarker, "unknown marker %q", m.name)
	found.Length = r.source.Span(n, m.at, len(m.name))
	var names []string
	for _, each := range Markers() {
		names = append(names, each.Name)
	}
	if other := foreignMarkers[m.name]; other != "" {
		found.WithHint("write %s", other)
	} else {
		found.Suggest(m.name, names)
	}
}

// apply applies a marker to a field.
func (r *Reader) apply(n *yamltree.Node, f *made, m marker, path []string) {
	at := r.source.Within(n, m.at)
	known, ok := markerOf(m.name)
	if !ok {
		r.reportUnknown(n, m)
		return
	}
	if len(known.of) > 0 && !slices.Contains(known.of, f.base) {
		words := make([]string, len(known.of))
		for i, of := range known.of {
			words[i] = of.String()
		}
		found := r.report(at, diagnostic.CodeShortMarker, "%s is for %s, and this is %s", m.name, strings.Join(words, " or "), f.base)
		found.Length = r.source.Span(n, m.at, len(m.name))
		if f.base == raw {
			found.WithHint("write it below openAPI")
		}
		return
	}
	switch {
	case known.isFlag() && m.hasValue:
		is, err := strconv.ParseBool(m.value)
		if err != nil {
			found := r.report(r.source.Within(n, m.valueAt), diagnostic.CodeShortMarker, "%s is true or false, and not %q", m.name, m.value)
			found.Length = r.source.Span(n, m.valueAt, len(m.value))
		}
		if !is {
			f.unset(m.name)
			return
		}
	case !known.isFlag() && (!m.hasValue || m.value == "" && !m.quoted):
		r.report(at, diagnostic.CodeShortMarker, "%s has no value", m.name).WithHint("write %s=%s", m.name, known.Value)
		return
	case m.inSingleQuotes():
		bare := m.value[1 : len(m.value)-1]
		found := r.report(r.source.Within(n, m.valueAt), diagnostic.CodeShortMarker, "single quotes would be a part of the value %s", m.value)
		found.Length = r.source.Span(n, m.valueAt, len(m.value))
		found.WithHint("write %s=%q", m.name, bare)
		return
	}
	f.mark(m.name, r.source.Within(n, m.at))
	if err := known.set(f, m.value); err != nil {
		found := r.report(r.source.Within(n, m.valueAt), diagnostic.CodeShortMarker, "%s", err.Error())
		found.Length = r.source.Span(n, m.valueAt, len(m.value))
		return
	}
	r.Mark(r.source.Within(n, m.valueAt), append(slices.Clone(path), m.name)...)
	if rules, _ := f.schema["x-kubernetes-validations"].([]any); m.name == "validation" {
		start := m.valueAt
		if m.quoted {
			start++
		}
		r.MarkText(n, start, append(slices.Clone(path), "x-kubernetes-validations", strconv.Itoa(len(rules)-1), "rule")...)
	}
}
