package rules

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// result is what the compiler knows of a scalar with expressions in it.
type result struct {
	// x is nil for text with expressions between other text.
	x    *checkedExpression
	part syntax.Part
	// items is true where a name of forEach is read.
	items bool
	// wrong is true where an error in the expression was reported, so that what
	// it gives says nothing.
	wrong bool
	// others are the expressions of the same scalar in other places, by aliases of YAML.
	others []*checkedExpression
}

// fieldPath is the way from an object to a value in it.
type fieldPath struct {
	up   *fieldPath
	name string // or an index, as [0]
	// of is the schema of the mapping or the list that has the field.
	of *openapi.Schema
}

func (p *fieldPath) to(name string, of *openapi.Schema) *fieldPath {
	return &fieldPath{up: p, name: name, of: of}
}

func (p *fieldPath) item(i int, of *openapi.Schema) *fieldPath {
	return p.to("["+strconv.Itoa(i)+"]", of)
}

// String writes the path as a field of its kind: Deployment.spec.replicas.
func (p *fieldPath) String() string {
	switch {
	case p.up == nil:
		return p.name
	case p.name[0] == '[':
		return p.up.String() + p.name
	case strings.ContainsAny(p.name, "./ $"):
		return p.up.String() + "[" + p.name + "]"
	}
	return p.up.String() + "." + p.name
}

// inKind is the path without its kind: spec.replicas.
func (p *fieldPath) inKind() string {
	root := p
	for root.up != nil {
		root = root.up
	}
	return strings.TrimPrefix(strings.TrimPrefix(p.String(), root.name), ".")
}

func (p *fieldPath) kind() string {
	for p.up != nil {
		p = p.up
	}
	return p.name
}

// conformer compares a part of a rule with the schema of what it renders.
type conformer struct {
	c *compiler
	// builtIn is true for a kind of Kubernetes' own: those have Go types, which
	// take an empty string for none.
	builtIn bool
	// shared is true for an object that others write to as well, so that what is
	// missing here may come from them.
	shared bool
	// noStatus is true where the API server drops what a template says of status.
	noStatus bool
}

// schemaOf is the schema of a kind; nil where none is known.
func (c *compiler) schemaOf(gvk schema.GroupVersionKind) *openapi.Schema {
	if gvk.Kind == "" {
		return nil
	}
	if c.opts.Schemas != nil {
		if s := c.opts.Schemas.Schema(gvk); s != nil {
			return s
		}
	}
	return c.certain[gvk]
}

// certainSchemas are what is known of kinds whose schema is not: what a rule makes of a
// Secret must not depend on whether the API server has answered yet.
func certainSchemas() map[schema.GroupVersionKind]*openapi.Schema {
	mapOf := func(format string) *openapi.Field {
		return &openapi.Field{
			Schema:    &openapi.Schema{Type: openapi.Map, Items: &openapi.Schema{Type: openapi.String, Format: format}},
			Defaulted: true, // so that nobody hears that it may be missing
		}
	}
	core := func(kind string) schema.GroupVersionKind { return schema.GroupVersionKind{Version: "v1", Kind: kind} }
	return map[schema.GroupVersionKind]*openapi.Schema{
		core("Secret"): {Type: openapi.Object, Open: true, Fields: map[string]*openapi.Field{
			"data": mapOf(formatByte), "stringData": mapOf(""),
		}},
		core("ConfigMap"): {Type: openapi.Object, Open: true, Fields: map[string]*openapi.Field{
			"binaryData": mapOf(formatByte),
		}},
	}
}

// conform compares a child's template with the schema of its kind. It comes
// after the template was compiled, so that the types of its expressions are known.
func (c *compiler) conform(spec *syntax.Child, child *compiledChild) {
	s := c.schemaOf(child.GVK)
	if s == nil {
		return
	}
	f := &conformer{c: c, builtIn: syntax.IsBuiltIn(child.GVK.Group), noStatus: child.kind.HasStatus}
	f.value(spec.Template, s, &fieldPath{name: child.GVK.Kind})
}

func (f *conformer) at(n *yamltree.Node) diagnostic.Position { return f.c.rule.Source.At(n) }

// report reports a mistake at a value, unless one was found there already.
func (f *conformer) report(n *yamltree.Node, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return f.reportAt(f.at(n), code, format, args...)
}

func (f *conformer) reportAt(pos diagnostic.Position, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	if f.c.wrongAt[pos] {
		return &diagnostic.Finding{} // that is kept nowhere
	}
	return f.c.report(pos, code, format, args...)
}

// isAboutAbsence says whether findings of a code are about what is not there:
// they stand where the mapping begins, and so does its first field.
func isAboutAbsence(code diagnostic.Code) bool {
	return code == diagnostic.CodeIncomplete || code == diagnostic.CodeFieldMissing || code == diagnostic.CodeNamespaceRequired
}

// value compares a value with what can stand there.
func (f *conformer) value(n *yamltree.Node, s *openapi.Schema, at *fieldPath) {
	if s == nil || s.Type == openapi.Any {
		return
	}
	switch n.Kind {
	case yamltree.Mapping:
		f.mapping(n, s, at)
	case yamltree.Sequence:
		f.sequence(n, s, at)
	default:
		f.scalar(n, s, at)
	}
}

func (f *conformer) scalar(n *yamltree.Node, s *openapi.Schema, at *fieldPath) {
	text, isText := n.Text()
	switch {
	case n.Value == nil:
		// null leaves a field out.
	case !isText || !syntax.HasExpression(text):
		f.literal(n, s, at)
	default:
		f.result(n, s, at)
	}
}

func (f *conformer) mapping(n *yamltree.Node, s *openapi.Schema, at *fieldPath) {
	switch s.Type {
	case openapi.Object:
		f.object(n, s, at)
	case openapi.Map:
		for _, fd := range n.Fields {
			f.value(fd.Value, s.Items, at.to(fd.Name, s))
		}
	case openapi.List:
		f.report(n, diagnostic.CodeFieldForm, "%s must be a list, and is a mapping", at).WithHint("%s", listHint(s))
	default:
		f.report(n, diagnostic.CodeFieldForm, "%s must be %s, and is a mapping", at, wants(s))
	}
}

// listHint says how a mapping that should be a list is written.
func listHint(s *openapi.Schema) string {
	if s.Items != nil && s.Items.Type != openapi.Object && s.Items.Type != openapi.Map {
		return "write each item on a line of its own, after \"- \""
	}
	if len(s.Keys) == 1 {
		return fmt.Sprintf("write each item as \"- %s: …\", with its other fields below", s.Keys[0])
	}
	return "write \"- \" before the first field of each item"
}

// object compares the fields of a mapping with those of an object.
func (f *conformer) object(n *yamltree.Node, s *openapi.Schema, at *fieldPath) {
	given := map[string]bool{}
	whole := !f.shared
	for _, name := range n.Lost {
		given[name] = true
		whole = whole && name != ""
	}
	for _, fd := range n.Fields {
		if syntax.HasExpression(fd.Name) {
			whole = false // it may be any field
			continue
		}
		name := fd.Name
		known := s.Fields[name]
		if at.up == nil && name == "status" && f.noStatus {
			f.report(fd.Key, diagnostic.CodeChildStatus, "the API server would drop the status: it is for the controller of %s to write", at.name)
			continue
		}
		if known == nil {
			if s.Open {
				continue
			}
			if name = f.unknownField(n, fd, s, at); name == "" || given[name] {
				continue
			}
			known = s.Fields[name]
		}
		given[name] = given[name] || !isNull(fd.Value)
		if at.up == nil && (name == "apiVersion" || name == "kind") {
			continue // templateKind looked at them
		}
		f.value(fd.Value, known.Schema, at.to(name, s))
	}
	if whole {
		f.required(n, s, given, at)
	}
}

// missingFields are the fields that an object needs and that are not given, sorted.
func missingFields(s *openapi.Schema, given map[string]bool) []string {
	var missing []string
	for name, field := range s.Fields {
		if field.Required && !field.Defaulted && !given[name] {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}

// listed joins names: a, b and c.
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func isNull(n *yamltree.Node) bool { return n.Kind == yamltree.Scalar && n.Value == nil }

// required reports the fields that an object cannot be without.
func (f *conformer) required(n *yamltree.Node, s *openapi.Schema, given map[string]bool, at *fieldPath) {
	missing := missingFields(s, given)
	if len(missing) == 0 {
		return
	}
	finding := f.c.report(f.at(n), diagnostic.CodeFieldMissing, "%s is missing %s", at, listed(missing))
	if slices.ContainsFunc(n.Fields, func(fd yamltree.Field) bool { return slices.Contains(missing, fd.Name) }) {
		finding.WithHint("null leaves a field out")
	}
}

// unknownField reports a field that an object does not have. It gives the field
// that is meant, if that is not there as well.
func (f *conformer) unknownField(n *yamltree.Node, fd yamltree.Field, s *openapi.Schema, at *fieldPath) (meant string) {
	near := f.noField(f.at(fd.Key), fd.Name, s, at)
	if near == "" || n.Has(near) {
		return ""
	}
	return near
}

// noField reports a name that is none of an object's fields. It gives the field
// whose name is near.
func (f *conformer) noField(pos diagnostic.Position, name string, s *openapi.Schema, at *fieldPath) (near string) {
	finding := f.reportAt(pos, diagnostic.CodeNoSuchField, "%s has no field %s", at.kind(), at.to(name, s).inKind())
	if near, ok := diagnostic.Nearest(name, slices.Collect(maps.Keys(s.Fields))); ok {
		finding.WithHint("did you mean %q?", near)
		return near
	}
	above, below := placeAbove(name, at), placeBelow(name, s)
	switch {
	case above != "":
		finding.WithHint("%s is a field of %s: look at the indentation", name, above)
	case below != "":
		finding.WithHint("%s belongs in %s", name, strings.TrimPrefix(at.inKind()+"."+below, "."))
	default:
		finding.Hint = listFields(s)
	}
	return ""
}

// placeAbove is the path of the nearest object around that has a field.
func placeAbove(name string, at *fieldPath) string {
	for p := at; p.up != nil; p = p.up {
		if p.of != nil && p.of.Type == openapi.Object && p.of.Fields[name] != nil {
			if p.up.up == nil {
				return p.up.name
			}
			return p.up.inKind()
		}
	}
	return ""
}

// maxHintDepth is how many levels below are searched for a field that stands
// too high: a container is at spec.template.spec.containers.
const maxHintDepth = 3

// placeBelow is the path to the one object below that has a field; empty where
// there is none or more than one on the same level.
func placeBelow(name string, s *openapi.Schema) string {
	type place struct {
		path string
		s    *openapi.Schema
	}
	level := []place{{s: s}}
	for range maxHintDepth {
		var next []place
		var found []string
		for _, p := range level {
			for _, below := range slices.Sorted(maps.Keys(p.s.Fields)) {
				inner := p.s.Fields[below].Schema
				if inner == nil || inner.Type != openapi.Object || below == "status" || below == "metadata" {
					continue
				}
				path := strings.TrimPrefix(p.path+"."+below, ".")
				if inner.Fields[name] != nil {
					found = append(found, path)
				}
				next = append(next, place{path: path, s: inner})
			}
		}
		if len(found) > 0 {
			if len(found) > 1 {
				return ""
			}
			return found[0]
		}
		level = next
	}
	return ""
}

// maxListed is how many names a hint lists: one can look over so many.
const maxListed = 10

// listFields says which fields there are, where they are few.
func listFields(s *openapi.Schema) string {
	names := slices.Sorted(maps.Keys(s.Fields))
	if len(names) == 0 || len(names) > maxListed {
		return ""
	}
	return "known fields: " + strings.Join(names, ", ")
}
