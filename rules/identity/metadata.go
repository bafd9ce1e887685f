package identity

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/reporting"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Kind returns the kind that a template renders. It must be a literal.
func Kind(r *reporting.Reporter, spec *syntax.Child) schema.GroupVersionKind {
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
		case scanner.HasExpression(s):
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

// CheckMetadata checks the metadata of a template, as far as it consists of literals. typed is true if the schema of
// the kind is known, so that unknown fields are reported elsewhere.
func CheckMetadata(r *reporting.Reporter, spec *syntax.Child, kind schema.GroupKind, typed bool) {
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
	CheckNames(r, metadata, kind)
	CheckServerFields(r, metadata)
}

// hasSimilar reports whether a mapping has a field with a name similar to the missing one. The finding about that
// unknown field is then enough.
func hasSimilar(n *yamltree.Node, name string) bool {
	return slices.ContainsFunc(n.Fields, func(f yamltree.Field) bool {
		_, near := diagnostic.Nearest(f.Name, []string{name})
		return near && !scanner.HasExpression(f.Name)
	})
}

// CheckServerFields reports fields of metadata that only the API server sets.
func CheckServerFields(r *reporting.Reporter, metadata *yamltree.Node) {
	for _, name := range syntax.ServerFields() {
		if n := metadata.Get(name); n != nil {
			r.ReportNode(n, diagnostic.CodeServerField, "a template cannot set metadata.%s", name).WithHint("leave it out")
		}
	}
}
