package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// KindOf returns the kind that a template renders. It must be a literal.
func KindOf(r *Reporter, spec *syntax.Child) schema.GroupVersionKind {
	values := map[string]string{}
	for _, name := range []string{"apiVersion", "kind"} {
		n := spec.Template.Get(name)
		s, ok := n.Text()
		switch {
		case n == nil:
			if !spec.Template.Has(name) {
				r.ReportNode(spec.Template, diagnostic.CodeIncomplete, "the template of %s is missing %s", spec.Label(), name)
			}
		case !ok || s == "":
			f := r.ReportNode(n, diagnostic.CodeTemplateType, "%s must be a string, and is %s", name, n.WhatOrEmpty())
			if !ok {
				syntax.SuggestQuotes(f, n)
			}
		case yamltree.HasExpression(s):
			r.ReportNode(n, diagnostic.CodeStrayExpression, "%s cannot contain an expression: the kinds of a rule must be known before it runs", name)
		default:
			values[name] = s
		}
	}
	gv, err := schema.ParseGroupVersion(values["apiVersion"])
	if err != nil {
		r.ReportNode(spec.Template.Get("apiVersion"), diagnostic.CodeGroupVersion, "apiVersion must be VERSION or GROUP/VERSION, not %q", values["apiVersion"])
	}
	if values["apiVersion"] == "" || values["kind"] == "" || err != nil {
		return schema.GroupVersionKind{}
	}
	return gv.WithKind(values["kind"])
}

// Metadata checks the metadata of a template, as far as it consists of literals. typed is true if the schema of
// the kind is known, so that unknown fields are reported elsewhere.
func Metadata(r *Reporter, spec *syntax.Child, kind schema.GroupKind, typed bool) {
	metadata := spec.Template.Get("metadata")
	switch {
	case metadata == nil:
		if !spec.Template.Has("metadata") && (!typed || !hasSimilar(spec.Template, "metadata")) {
			r.Report(r.At(spec.Template), diagnostic.CodeIncomplete, "the template of %s is missing metadata.name", spec.Label())
		}
		return
	case metadata.Kind != yamltree.Mapping:
		if !syntax.IsExpressionText(metadata) {
			r.Report(r.At(metadata), diagnostic.CodeTemplateType, "metadata must be a mapping, and is %s", metadata.What())
		}
		return
	}
	generate := metadata.Get("generateName")
	if generate != nil {
		r.Report(r.At(generate), diagnostic.CodeGenerateName, "generateName would create a new object at every evaluation").
			WithHint("render metadata.name from what is different for each object")
	}
	switch name := metadata.Get("name"); {
	case name == nil:
		if !metadata.Has("name") && generate == nil && (!typed || !hasSimilar(metadata, "name")) {
			r.Report(r.At(metadata), diagnostic.CodeIncomplete, "the template of %s is missing metadata.name", spec.Label())
		}
	case name.Kind != yamltree.Scalar || name.Value == nil || name.Value == "":
		r.Report(r.At(name), diagnostic.CodeTemplateType, "metadata.name must be a string, and is %s", name.WhatOrEmpty())
	default:
		if _, ok := name.Text(); !ok {
			syntax.SuggestQuotes(r.Report(r.At(name), diagnostic.CodeTemplateType, "metadata.name must be a string, and is %s", name.What()), name)
		}
	}
	MetadataNames(r, metadata, kind)
	ServerFields(r, metadata)
}

// hasSimilar reports whether a mapping has a field with a name similar to the missing one. The finding about that
// unknown field is then enough.
func hasSimilar(n *yamltree.Node, name string) bool {
	return slices.ContainsFunc(n.Fields, func(f yamltree.Field) bool {
		_, near := diagnostic.Nearest(f.Name, []string{name})
		return near && !yamltree.HasExpression(f.Name)
	})
}

// ServerFields reports fields of metadata that only the API server sets.
func ServerFields(r *Reporter, metadata *yamltree.Node) {
	for _, name := range syntax.ServerFields() {
		if n := metadata.Get(name); n != nil {
			r.ReportNode(n, diagnostic.CodeServerField, "a template cannot set metadata.%s", name).WithHint("leave it out")
		}
	}
}

// RBACGroup is the API group of RBAC, whose objects can have almost any characters in their names.
const RBACGroup = "rbac.authorization.k8s.io"

// MetadataNames reports what the API server refuses in the name, the namespace, the labels and the keys of annotations, as
// far as they are literals.
func MetadataNames(r *Reporter, metadata *yamltree.Node, kind schema.GroupKind) {
	hint := lowerNames
	if kind.Group == RBACGroup {
		hint = ""
	}
	checkWritten(r, metadata.Get("name"), "metadata.name", diagnostic.CodeObjectName, "a name", syntax.NamesOfKind(kind), hint)
	checkWritten(r, metadata.Get("namespace"), "metadata.namespace", diagnostic.CodeObjectName, "a namespace", validation.IsDNS1123Label, lowerNames)
	for _, f := range metadata.Get("labels").Entries() {
		at := "metadata.labels." + f.Name
		checkWritten(r, f.Key, at, diagnostic.CodeLabel, "the key of a label", validation.IsQualifiedName, labelNames)
		checkWritten(r, f.Value, at, diagnostic.CodeLabel, "the value of a label", validation.IsValidLabelValue, labelNames)
	}
	for _, f := range metadata.Get("annotations").Entries() {
		qualified := func(key string) []string { return validation.IsQualifiedName(strings.ToLower(key)) }
		checkWritten(r, f.Key, "metadata.annotations."+f.Name, diagnostic.CodeLabel, "the key of an annotation", qualified, labelNames)
	}
}

const (
	lowerNames = "write lower case letters, digits, - and ., with a letter or digit at both ends"
	labelNames = "write letters, digits, -, _ and ., with a letter or digit at both ends, and at most 63 of them"
)

// checkWritten reports a string that check refuses: a literal, or text that is wrong whatever its expressions give.
func checkWritten(r *Reporter, n *yamltree.Node, at string, code diagnostic.Code, what string, check func(string) []string, hint string) {
	s, ok := n.Text()
	if !ok || s == "" {
		return
	}
	written := s
	if yamltree.HasExpression(s) {
		parts, err := yamltree.Scan(s)
		if err != nil || !slices.ContainsFunc(parts, func(p yamltree.Part) bool { return !p.Expr }) {
			return
		}
		var b strings.Builder
		b.WriteByte('a') // an expression may be at the ends
		for _, p := range parts {
			if p.Expr {
				b.WriteByte('a')
			} else {
				b.WriteString(p.Text)
			}
		}
		b.WriteByte('a')
		written = b.String()
	}
	if len(check(written)) == 0 {
		return
	}
	if strings.Contains(s, "{{") {
		hint = "an expression is written ${…}, as in ${parent.metadata.name}"
	}
	isWrong := func(text string) bool { return len(check("a"+text+"a")) > 0 }
	r.ReportAround(n, isWrong, code, "%s: %q is not %s that Kubernetes accepts", at, s, what).WithHint("%s", hint)
}

// Ignoring checks the paths of a child's ignore.
type Ignoring struct {
	*Reporter
	Kind string
	// Schema is the schema of the kind; nil if it is not known.
	Schema *openapi.Schema
	// always and sometimes are the paths that are ignored without and with a condition.
	always, sometimes []ignoredPath
}

// ignoredPath is a path and the node that has it.
type ignoredPath struct {
	path syntax.IgnorePath
	node *yamltree.Node
}

// Add parses and checks the path of an item of ignore. It returns false, after a finding, if the path cannot be used.
func (g *Ignoring) Add(item syntax.Ignore) (syntax.IgnorePath, bool) {
	n := item.Path
	text, _ := n.Text()
	path, err := syntax.ParseIgnore(text)
	if err != nil {
		f := g.ReportSpan(n, err.Offset, wordLength(text, err.Offset), diagnostic.CodeIgnorePath, "%s", err.Message)
		if f.Hint = err.Hint; err.Meant != "" {
			f.WithEdit(f.Position, text, err.Meant)
		}
		return nil, false
	}
	if reason := whyNotIgnorable(path.Steps); reason != "" {
		g.ReportNode(n, diagnostic.CodeIgnoreIdentity, "%s cannot be ignored: %s", path.Steps, reason)
		return nil, false
	}
	if first := slices.IndexFunc(g.always, func(p ignoredPath) bool {
		return len(p.path) <= len(path.Steps) && p.path.Equal(path.Steps[:len(p.path)])
	}); first >= 0 {
		other := g.always[first]
		g.Relate(g.ReportNode(n, diagnostic.CodeIgnoreTwice, "%s is ignored already, by %s", path.Steps, other.path), other.node, "the first one").WithHint("leave it out")
		return nil, false
	}
	if first := slices.IndexFunc(g.sometimes, func(p ignoredPath) bool { return p.path.Equal(path.Steps) }); first >= 0 {
		hint := "write one item, with || between the conditions"
		if item.When == nil {
			hint = "leave out the other item"
		}
		g.Relate(g.ReportNode(n, diagnostic.CodeIgnoreTwice, "%s is ignored already, under a condition", path.Steps), g.sometimes[first].node, "the first one").WithHint("%s", hint)
		return nil, false
	}
	g.checkSchema(n, text, path)
	if item.When == nil {
		g.always = append(g.always, ignoredPath{path.Steps, n})
	} else {
		g.sometimes = append(g.sometimes, ignoredPath{path.Steps, n})
	}
	return path.Steps, true
}

// whyNotIgnorable says why a path cannot be ignored; "" if it can.
func whyNotIgnorable(path syntax.IgnorePath) string {
	switch path[0].Field {
	case "apiVersion", "kind":
		return "it identifies the object"
	case "metadata":
	default:
		return ""
	}
	if len(path) == 1 {
		return "it identifies the object and its owner"
	}
	switch path[1].Field {
	case "name", "namespace":
		return "it identifies the object"
	case "ownerReferences":
		return "it identifies the owner of the object"
	case "labels", "annotations":
		if len(path) > 2 && strings.HasPrefix(path[2].Field, "kanon.dev/") {
			return "it is Kanon's own"
		}
	}
	return ""
}

// wordLength returns the length in bytes of the word at an offset of a path: a field, the value of a key, or everything
// in brackets.
func wordLength(path string, offset int) int {
	if offset < 0 || offset > len(path) {
		return 0
	}
	if end := strings.IndexByte(path[offset:], ']'); end > 0 && path[offset] == '[' {
		return end + 1
	}
	if end := strings.IndexAny(path[offset:], ".[]=\"'"); end >= 0 {
		return end
	}
	return len(path) - offset
}

// checkSchema follows a path in the schema of its kind, as far as the schema is known. text is the path as written.
func (g *Ignoring) checkSchema(n *yamltree.Node, text string, path syntax.ParsedIgnore) {
	s, at := g.Schema, &fieldPath{name: g.Kind}
	var list *openapi.Schema // the list whose items have the schema s
	for i, step := range path.Steps {
		if s == nil || s.Type == openapi.Any {
			return
		}
		report := func(code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
			return g.ReportSpan(n, path.At[i], wordLength(text, path.At[i]), code, format, args...)
		}
		if step.Keys != nil {
			if s.Type != openapi.List {
				report(diagnostic.CodeIgnorePart, "%s is not a list", at.inKind()).WithHint("write [key] for the key of a map")
				return
			}
			for _, name := range slices.Sorted(maps.Keys(step.Keys)) {
				if !slices.Contains(s.Keys, name) {
					report(diagnostic.CodeIgnorePart, "the items of %s are not identified by %s", at.inKind(), name).WithHint("%s", itemsHint(s, at))
					return
				}
			}
			s, list, at = s.Items, s, at.to(syntax.IgnorePath{step}.String(), s)
			continue
		}
		if list != nil && slices.Contains(list.Keys, step.Field) && i == len(path.Steps)-1 {
			report(diagnostic.CodeIgnorePart, "%s identifies the items of %s and cannot be ignored", step.Field, at.up.inKind())
			return
		}
		list = nil
		switch s.Type {
		case openapi.Map, openapi.Object:
			below, ok := s.At(step.Field)
			if !ok {
				report(diagnostic.CodeIgnoreUnknown, "%s has no field %s", at.kind(), at.to(step.Field, s).inKind()).Suggest(step.Field, FieldNames(s)).WithHint("%s", fieldHint(step.Field, s))
				return
			}
			s, at = below, at.to(step.Field, s)
		case openapi.List:
			report(diagnostic.CodeIgnorePart, "%s is a list", at.inKind()).WithHint("%s", itemsHint(s, at))
			return
		default:
			report(diagnostic.CodeIgnorePart, "%s is one value, with no fields in it", at.inKind())
			return
		}
	}
}

// itemsHint says how to name items of a list.
func itemsHint(s *openapi.Schema, at *fieldPath) string {
	if len(s.Keys) == 0 {
		return fmt.Sprintf("the API server treats the list as one value; ignore %s as a whole", at.inKind())
	}
	return fmt.Sprintf("name an item, as in %s[%s=…]", at.inKind(), strings.Join(s.Keys, "=…,"))
}
