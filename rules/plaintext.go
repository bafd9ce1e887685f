package rules

import (
	"regexp"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// checkPlainText warns of text that is probably meant as an expression: a path without ${}, or the syntax of other
// tools.
func (c *compiler) checkPlainText(n *yamltree.Node, s string) {
	if !strings.Contains(s, "{{") && !strings.Contains(s, flow.RootParent+".") && !strings.Contains(s, flow.RootVariables+".") &&
		!strings.Contains(s, flow.RootLookups+".") && !strings.Contains(s, flow.RootChildren+".") {
		return
	}
	const path = `(?:parent\.(?:spec|metadata|status)|(?:children|lookups|variables)\.([A-Za-z_]\w*))(?:\.\??[A-Za-z_]\w*|\[[^\]]*\])*`
	if m := regexp.MustCompile(`^` + path + `$`).FindStringSubmatch(s); m != nil && c.isMember(m[1]) {
		f := c.ReportAt(n, 0, diagnostic.CodeLooksLike, "this is literal text, and not the value of the path")
		f.WithHint("write ${%s}", s)
		syntax.SuggestExpression(f, n, s)
		return
	}
	// $(path), {path} and {{path}}.
	bracketed := regexp.MustCompile(`(?:\$\(|\{\{?) *(` + path + `) *[)}]`)
	if m := bracketed.FindStringSubmatchIndex(s); m != nil {
		f := c.ReportSpan(n, m[0], m[1]-m[0], diagnostic.CodeLooksLike, "this is literal text, and not the value of the path")
		f.WithHint("write ${%s}", s[m[2]:m[3]])
		if !n.IsPlain() {
			f.WithEdit(f.Position, s[m[0]:m[1]], "${"+s[m[2]:m[3]]+"}")
		}
		return
	}
	foreign := regexp.MustCompile(`\{\{-? *(?:\.(?:Values|Release|Chart)\.|request\.)`)
	if m := foreign.FindStringIndex(s); m != nil {
		c.ReportSpan(n, m[0], m[1]-m[0], diagnostic.CodeLooksLike, "{{ }} means nothing to Kanon, so this is literal text").
			WithHint("write an expression, such as ${parent.metadata.name}")
	}
}

// isMember reports whether a child, a lookup or a variable has the name; true for no name.
func (c *compiler) isMember(name string) bool {
	return name == "" || c.children[name] != nil || c.lookups[name] != nil || c.variables[name] != nil
}
