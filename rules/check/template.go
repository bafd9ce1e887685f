package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// fieldPath is the path from an object to a value in it.
type fieldPath struct {
	up   *fieldPath
	name string // a field, an index such as [0], or the kind if up is nil
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

// inKind writes the path without its kind: spec.replicas.
func (p *fieldPath) inKind() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.String(), p.kind()), ".")
}

func (p *fieldPath) kind() string {
	for p.up != nil {
		p = p.up
	}
	return p.name
}

// Scalar is a scalar with expressions in it, after it was compiled.
type Scalar struct {
	// Whole is the expression, if the scalar is one expression. It is nil for text with expressions in it.
	Whole *Expression
	// Text is the expression as written. Offset is where it begins in the scalar.
	Text   string
	Offset int
	// Variable is the value of the variable if the expression is only the name of one; else nil.
	Variable *yamltree.Node
	// GoesInto records the schema of the field of the value, for values whose type does not prove that they fit.
	GoesInto func(s *openapi.Schema)
}

// TemplateCheck compares a part of a rule with the schema of the object that it renders. The part must be compiled, so that
// the types of its expressions are known.
type TemplateCheck struct {
	*Reporter
	// Compiled returns a scalar with expressions, and false if one of them has an error, which must be corrected first.
	Compiled func(n *yamltree.Node) (Scalar, bool)
	Table    *Table
	// BuiltIn is true for a kind of Kubernetes itself. Its Go types take an empty string for no value.
	BuiltIn bool
	// Shared is true for an object that others write to as well: they may set the fields that are missing here.
	Shared bool
	// DropsStatus is true if the API server drops the status in a template.
	DropsStatus bool
}

// Check compares a value with the field at a path of a kind with the schema s. Without a path, it compares the whole
// object.
func (t TemplateCheck) Check(n *yamltree.Node, kind string, s *openapi.Schema, path ...string) {
	at := &fieldPath{name: kind}
	for _, name := range path {
		at = at.to(name, s)
		s, _ = s.At(name)
	}
	t.value(n, s, at)
}

// report reports a mistake at a value, unless one was found there already.
func (t *TemplateCheck) report(n *yamltree.Node, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return t.reportAt(t.At(n), code, format, args...).About(n.Kind == yamltree.Scalar)
}

func (t *TemplateCheck) reportAt(pos diagnostic.Position, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	if t.IsWrong(pos) {
		return &diagnostic.Finding{} // a finding that is not reported
	}
	return t.Report(pos, code, format, args...)
}

func (t *TemplateCheck) value(n *yamltree.Node, s *openapi.Schema, at *fieldPath) {
	if s == nil || s.Type == openapi.Any {
		return
	}
	switch n.Kind {
	case yamltree.Mapping:
		t.mapping(n, s, at)
	case yamltree.Sequence:
		t.sequence(n, s, at)
	default:
		t.scalar(n, s, at)
	}
}

func (t *TemplateCheck) scalar(n *yamltree.Node, s *openapi.Schema, at *fieldPath) {
	text, isText := n.Text()
	switch {
	case n.Value == nil:
		// null leaves a field out.
	case !isText || !yamltree.HasExpression(text):
		t.written(n, s, at)
	default:
		t.result(n, s, at)
	}
}

func (t *TemplateCheck) mapping(n *yamltree.Node, s *openapi.Schema, at *fieldPath) {
	switch s.Type {
	case openapi.Object:
		t.object(n, s, at)
	case openapi.Map:
		for _, fd := range n.Fields {
			t.value(fd.Value, s.Items, at.to(fd.Name, s))
		}
	case openapi.List:
		t.report(n, diagnostic.CodeFieldForm, "%s must be a list, and is a mapping", at).WithHint("%s", listHint(s))
	default:
		f := t.report(n, diagnostic.CodeFieldForm, "%s must be %s, and is a mapping", at, Wants(s))
		if at.name == "matchLabels" {
			f.WithHint("this selector has the labels themselves: write them without matchLabels")
		}
	}
}

// listHint says how to write a mapping that should be a list.
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
func (t *TemplateCheck) object(n *yamltree.Node, s *openapi.Schema, at *fieldPath) {
	given := map[string]bool{}
	whole := !t.Shared
	for _, name := range n.Lost {
		given[name] = true
		whole = whole && name != ""
	}
	for _, fd := range n.Fields {
		if yamltree.HasExpression(fd.Name) {
			whole = false // it may be any field
			continue
		}
		name := fd.Name
		known := s.Fields[name]
		if at.up == nil && name == "status" && t.DropsStatus {
			t.report(fd.Key, diagnostic.CodeChildStatus, "the API server would drop the status: it is for the controller of %s to write", at.name)
			continue
		}
		if known == nil {
			if s.Open {
				continue
			}
			var unknown *diagnostic.Finding
			if unknown, name = t.noField(t.At(fd.Key), name, s, at); name == "" || n.Has(name) || given[name] {
				continue
			}
			unknown.WithEdit(unknown.Position, fd.Name, name)
			known = s.Fields[name] // the field that the author meant
		}
		given[name] = given[name] || !isNull(fd.Value)
		if at.up == nil && (name == "apiVersion" || name == "kind") {
			continue // package identity checks them
		}
		t.value(fd.Value, known.Schema, at.to(name, s))
	}
	if whole {
		t.required(n, s, given, at)
	}
}

// missingFields returns the required fields of an object that are not given, sorted.
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

func isNull(n *yamltree.Node) bool { return n.Kind == yamltree.Scalar && n.Value == nil }

func (t *TemplateCheck) required(n *yamltree.Node, s *openapi.Schema, given map[string]bool, at *fieldPath) {
	missing := missingFields(s, given)
	if len(missing) == 0 {
		return
	}
	finding := t.Report(t.At(n), diagnostic.CodeFieldMissing, "%s is missing %s", at, Listed(missing, "and")).About(false)
	if slices.ContainsFunc(n.Fields, func(fd yamltree.Field) bool { return slices.Contains(missing, fd.Name) }) {
		finding.WithHint("null leaves a field out")
	}
}

// noField reports a name that is not a field of the object. It returns the field with the most similar name.
func (t *TemplateCheck) noField(pos diagnostic.Position, name string, s *openapi.Schema, at *fieldPath) (finding *diagnostic.Finding, near string) {
	finding = t.reportAt(pos, diagnostic.CodeNoSuchField, "%s has no field %s", at.kind(), at.to(name, s).inKind())
	above, below := placeAbove(name, at), placeBelow(name, s)
	near, _ = diagnostic.Nearest(name, FieldNames(s))
	if longer := onlyEndingWith(name, FieldNames(s)); near == "" && longer != "" {
		finding.WithHint("did you mean %q?", longer)
		return finding, longer
	}
	switch {
	case near != "" || above == "" && below == "":
		finding.WithHint("%s", fieldHint(name, s))
	case above != "":
		finding.WithHint("%s is a field of %s: look at the indentation", name, above)
	default:
		finding.WithHint("%s belongs in %s", name, strings.TrimPrefix(at.inKind()+"."+below, "."))
	}
	return finding, near
}

// onlyEndingWith returns the only name that ends with another one, as secretName ends with name; empty if there is none.
func onlyEndingWith(end string, names []string) (only string) {
	if end == "" {
		return ""
	}
	for _, name := range names {
		if strings.HasSuffix(name, strings.ToUpper(end[:1])+end[1:]) {
			if only != "" {
				return ""
			}
			only = name
		}
	}
	return only
}

// placeAbove returns the path of the nearest object around at that has a field of that name, or "".
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

// maxHintDepth is how many levels below are searched for a field that is at too high a level: containers are at
// spec.template.spec.
const maxHintDepth = 3

// placeBelow returns the path of the nearest object below that has a field of that name. It returns "" if there is
// none, or several on the same level.
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
			for _, below := range FieldNames(p.s) {
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

// maxListed is how many names a hint lists: a reader can scan so many.
const maxListed = 10

// fieldHint names the field that the author meant, or all fields if they are few.
func fieldHint(name string, s *openapi.Schema) string {
	names := FieldNames(s)
	if near := diagnostic.DidYouMean(name, names); near != "" || len(names) == 0 || len(names) > maxListed {
		return near
	}
	return "known fields: " + strings.Join(names, ", ")
}

func (t *TemplateCheck) sequence(n *yamltree.Node, s *openapi.Schema, at *fieldPath) {
	if s.Type != openapi.List {
		finding := t.report(n, diagnostic.CodeFieldForm, "%s must be %s, and is a list", at, Wants(s))
		if s.Type == openapi.Object || s.Type == openapi.Map {
			finding.WithHint("write its fields without \"- \"")
		}
		return
	}
	// The API server takes a list without keys as one value, so its items are complete even if others write to the object.
	inner := *t
	inner.Shared = t.Shared && len(s.Keys) > 0
	for i, item := range n.Items {
		if yamltree.IsSpread(item) {
			inner.result(item, s, at)
			continue
		}
		inner.value(item, s.Items, at.item(i, s))
	}
	t.uniqueItems(n, s, at)
}

// uniqueItems reports items of a list-map that have the same keys.
func (t *TemplateCheck) uniqueItems(n *yamltree.Node, s *openapi.Schema, at *fieldPath) {
	if len(s.Keys) == 0 {
		return
	}
	type seenItem struct {
		index int
		key   *yamltree.Node
	}
	seen := map[string]seenItem{}
	for i, item := range n.Items {
		identity, key, ok := itemIdentity(item, s.Keys)
		if !ok {
			continue
		}
		first, twice := seen[identity]
		if !twice {
			seen[identity] = seenItem{i, key}
			continue
		}
		t.report(key, diagnostic.CodeItemTwice, "%s has the same %s as [%d]: each item of this list needs its own",
			at.item(i, s), Listed(s.Keys, "and"), first.index).WithRelated(t.At(first.key), "the first one")
	}
}

// itemIdentity returns the values of the keys of a list-map's item as text, and the node of the first. ok is false if
// some are not known.
func itemIdentity(item *yamltree.Node, keys []string) (identity string, first *yamltree.Node, ok bool) {
	if item.Kind != yamltree.Mapping || len(item.Lost) > 0 || slices.ContainsFunc(item.Fields, func(fd yamltree.Field) bool { return yamltree.HasExpression(fd.Name) }) {
		return "", nil, false
	}
	var b strings.Builder
	for _, key := range keys {
		n := item.Get(key)
		switch {
		case n == nil || isNull(n):
			b.WriteString("-\n") // the default, which is the same for all items
			continue
		case n.Kind != yamltree.Scalar:
			return "", nil, false
		}
		if first == nil {
			first = n
		}
		fmt.Fprintf(&b, "%T %q\n", n.Value, fmt.Sprint(n.Value))
	}
	return b.String(), first, first != nil
}
