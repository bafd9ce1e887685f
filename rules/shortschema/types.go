package shortschema

import (
	"maps"
	"slices"
	"strings"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// base is the class of a type. It decides which markers the type takes.
type base uint8

const (
	text base = iota
	number
	boolean
	list
	mapping // map[string]TYPE
	object  // fields with names
	anything
	raw // written as openAPI
)

// String names the class in a message.
func (b base) String() string {
	return [...]string{"a string", "a number", "a boolean", "a list", "a map", "an object", "any value", "OpenAPI"}[b]
}

// Type is a type that a field can have by name.
type Type struct {
	Name string
	// Doc explains it, in Markdown.
	Doc    string
	schema map[string]any
	base   base
}

// intOrString returns the schema of a value that is a whole number or text, with more fields.
func intOrString(more map[string]any) map[string]any {
	schema := map[string]any{
		"x-kubernetes-int-or-string": true,
		"anyOf":                      []any{map[string]any{"type": "integer"}, map[string]any{"type": "string"}},
	}
	maps.Copy(schema, more)
	return schema
}

func formatted(format string) map[string]any {
	return map[string]any{"type": "string", "format": format}
}

// Types returns the types that every schema has.
func Types() []Type {
	return []Type{
		{"string", "Text.", map[string]any{"type": "string"}, text},
		{"integer", "A whole number.", map[string]any{"type": "integer"}, number},
		{"int32", "A whole number of 32 bits.", map[string]any{"type": "integer", "format": "int32"}, number},
		{"int64", "A whole number of 64 bits.", map[string]any{"type": "integer", "format": "int64"}, number},
		{"number", "A number.", map[string]any{"type": "number"}, number},
		{"float", "A number, as `number`.", map[string]any{"type": "number"}, number},
		{"boolean", "`true` or `false`.", map[string]any{"type": "boolean"}, boolean},
		{"object", "An object with any content, which is kept as it is.", map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}, object},
		{"any", "Any value, which is kept as it is.", map[string]any{"x-kubernetes-preserve-unknown-fields": true}, anything},
		{"quantity", "An amount, such as `500m` or `2Gi`.", intOrString(map[string]any{"pattern": openapi.QuantityPattern}), text},
		{"int-or-string", "A whole number or text, such as a port.", intOrString(nil), text},
		{"date-time", "A time, such as `2026-03-05T06:07:08Z`.", formatted("date-time"), text},
		{"date", "A day, such as `2026-03-05`.", formatted("date"), text},
		{"duration", "A duration, such as `1h30m`, `2d` or `1w`. In expressions, `duration(\"…\")` takes units up to `h` only.", formatted("duration"), text},
		{"bytes", "Bytes, in base64.", formatted("byte"), text},
		{"uri", "A URI.", formatted("uri"), text},
		{"email", "An email address.", formatted("email"), text},
		{"hostname", "A host name.", formatted("hostname"), text},
		{"ipv4", "An IPv4 address.", formatted("ipv4"), text},
		{"ipv6", "An IPv6 address.", formatted("ipv6"), text},
		{"cidr", "A range of IP addresses, such as `10.0.0.0/8`.", formatted("cidr"), text},
		{"uuid", "A UUID.", formatted("uuid"), text},
		{"password", "Text that user interfaces do not show.", formatted("password"), text},
	}
}

func typeOf(name string) (Type, bool) {
	types := Types()
	i := slices.IndexFunc(types, func(t Type) bool { return t.Name == name })
	if i < 0 {
		return Type{}, false
	}
	return types[i], true
}

// foreign returns the type for the name that another language has for it, or "".
func foreign(name string) string {
	return map[string]string{
		"int": "integer", "long": "int64", "bool": "boolean", "str": "string", "text": "string", "double": "float", "decimal": "quantity",
		"timestamp": "date-time", "datetime": "date-time", "time": "date-time", "byte": "bytes", "url": "uri", "dict": "map[string]string",
		"map": "map[string]string", "list": "[]string", "array": "[]string", "[]": "[]string", "IntOrString": "int-or-string",
		"intorstring": "int-or-string", "Quantity": "quantity", "struct": "object", "interface{}": "any", "null": "any",
	}[name]
}

func cutMap(typ string) (key, value string, ok bool) {
	rest, ok := strings.CutPrefix(typ, "map[")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "]")
}

func (r *Reader) define(types *yamltree.Node) {
	if types.Kind != yamltree.Mapping {
		r.report(r.source.At(types), diagnostic.CodeFieldType, "types must be a mapping, and is %s", types.What())
		return
	}
	for _, f := range r.named(types) {
		if t, ok := typeOf(f.name); ok {
			r.report(r.source.At(f.Key), diagnostic.CodeShortType, "%s is a type of every schema: %s", f.name, strings.TrimSuffix(t.Doc, ".")).WithHint("give your type another name")
			continue
		}
		r.own[f.name] = f
	}
}

// CheckTypes reads all of the kind's own types, so that mistakes are found in those that no field uses.
func (r *Reader) CheckTypes() {
	columns := r.columns
	for _, name := range slices.Sorted(maps.Keys(r.own)) {
		r.resolve(r.own[name], nil)
	}
	r.columns = columns // only fields have columns
}

func (r *Reader) resolve(own named, path []string) *made {
	r.open = append(r.open, own.name)
	defer func() { r.open = r.open[:len(r.open)-1] }()
	return r.namedField(own, path)
}

// reportCycle reports that a type contains itself, once for all types of the cycle.
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
	names := slices.Sorted(maps.Keys(r.own))
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

func openAPIOf(n *yamltree.Node) *yamltree.Node {
	if n.Kind != yamltree.Mapping || len(n.Fields) != 1 {
		return nil
	}
	if asIs := n.Get("openAPI"); asIs != nil && asIs.Kind == yamltree.Mapping {
		return asIs
	}
	return nil
}

// isBareOpenAPI reports whether a mapping is an OpenAPI schema that is not below openAPI, and would be taken for an
// object with fields. It reports a finding if so.
func (r *Reader) isBareOpenAPI(n *yamltree.Node) bool { return r.isMisnamed(n) || r.isUnnamed(n) }

// isMisnamed reports whether the schema is below a key that is not quite openAPI. It reports a finding if so.
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

// isUnnamed reports whether the mapping is itself a schema, with a type and other keywords. It reports a finding if so.
func (r *Reader) isUnnamed(n *yamltree.Node) bool {
	if !hasTypeOfOpenAPI(n) || len(n.Fields) < 2 {
		return false
	}
	isSure := false
	for _, f := range n.Fields {
		if !slices.Contains(keywords, f.Name) && !strings.HasPrefix(f.Name, "x-kubernetes-") {
			return false
		}
		isSure = isSure || f.Name != "type" && !r.mayBeField(f)
	}
	if isSure {
		r.report(r.source.At(n), diagnostic.CodeShortType, "this is a schema of OpenAPI, and a mapping has fields here").
			WithHint(`write openAPI: and this below it, or the short form, such as "map[string]string" and string | maxLength=9`)
	}
	return isSure
}

// keywords are the fields of an OpenAPI schema.
var keywords = []string{ //nolint:gochecknoglobals // a table
	"type", "format", "description", "title", "default", "example", "enum", "nullable", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
	"exclusiveMaximum", "multipleOf", "items", "minItems", "maxItems", "uniqueItems", "properties", "additionalProperties", "required", "minProperties", "maxProperties",
	"allOf", "anyOf", "oneOf", "not", "externalDocs",
}

func hasTypeOfOpenAPI(n *yamltree.Node) bool {
	if n.Kind != yamltree.Mapping {
		return false
	}
	text, _ := n.Get("type").Text()
	return slices.Contains([]string{"object", "array", "string", "integer", "number", "boolean"}, text)
}

// mayBeField reports whether a field that is named like a keyword of OpenAPI can be a field in the short form.
func (r *Reader) mayBeField(f yamltree.Field) bool {
	switch text, isText := f.Value.Text(); {
	case isText:
		parts := scan(text)
		_, isType := typeOf(parts.typ)
		_, isOwn := r.own[parts.typ]
		return isType || isOwn || len(parts.markers) > 0 || strings.ContainsAny(parts.typ, "[]")
	case f.Value.Kind != yamltree.Mapping:
		return false
	case f.Name == "properties":
		return len(f.Value.Fields) == 0 || slices.ContainsFunc(f.Value.Fields, func(below yamltree.Field) bool { return !hasTypeOfOpenAPI(below.Value) })
	default:
		return !hasTypeOfOpenAPI(f.Value)
	}
}

func (r *Reader) openAPI(n *yamltree.Node, path []string) *made {
	schema, _ := n.Plain().(map[string]any)
	r.markAll(n, path)
	return &made{schema: schema, base: raw}
}
