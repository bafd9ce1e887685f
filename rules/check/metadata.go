package check

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

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
