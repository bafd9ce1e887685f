package rules

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// rbacGroup is the group whose objects may have names of all kinds of signs.
const rbacGroup = "rbac.authorization.k8s.io"

// checkObjectNames reports what the API server refuses in the name, the namespace,
// the labels and the keys of annotations, as far as it is written out.
func (c *compiler) checkObjectNames(metadata *yamltree.Node, group string) {
	if group != rbacGroup {
		c.checkWritten(metadata.Get("name"), "metadata.name", diagnostic.CodeObjectName, "a name", validation.IsDNS1123Subdomain, lowerNames)
	} else {
		c.checkWritten(metadata.Get("name"), "metadata.name", diagnostic.CodeObjectName, "a name", syntax.IsPathSegment, "")
	}
	c.checkWritten(metadata.Get("namespace"), "metadata.namespace", diagnostic.CodeObjectName, "a namespace", validation.IsDNS1123Label, lowerNames)
	for _, f := range fieldsOf(metadata.Get("labels")) {
		at := "metadata.labels." + f.Name
		c.checkWritten(f.Key, at, diagnostic.CodeLabel, "the key of a label", validation.IsQualifiedName, labelNames)
		c.checkWritten(f.Value, at, diagnostic.CodeLabel, "the value of a label", validation.IsValidLabelValue, labelNames)
	}
	for _, f := range fieldsOf(metadata.Get("annotations")) {
		qualified := func(key string) []string { return validation.IsQualifiedName(strings.ToLower(key)) }
		c.checkWritten(f.Key, "metadata.annotations."+f.Name, diagnostic.CodeLabel, "the key of an annotation", qualified, labelNames)
	}
}

const (
	lowerNames = "write lower case letters, digits, - and ., with a letter or digit at both ends"
	labelNames = "write letters, digits, -, _ and ., with a letter or digit at both ends, and at most 63 of them"
)

func fieldsOf(n *yamltree.Node) []yamltree.Field {
	if n == nil || n.Kind != yamltree.Mapping {
		return nil
	}
	return n.Fields
}

// checkWritten reports a string that cannot be what it has to be: one without
// expressions, or one that is wrong whatever its expressions give.
func (c *compiler) checkWritten(n *yamltree.Node, at string, code diagnostic.Code, what string, check func(string) []string, hint string) {
	s, ok := n.Text()
	if !ok || s == "" {
		return
	}
	written := s
	if syntax.HasExpression(s) {
		parts, err := syntax.Scan(s)
		if err != nil || !slices.ContainsFunc(parts, func(p syntax.Part) bool { return !p.Expr }) {
			return
		}
		var b strings.Builder
		b.WriteByte('a') // the ends may be an expression's
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
	c.report(c.rule.Source.At(n), code, "%s: %q is not %s that Kubernetes accepts", at, s, what).WithHint("%s", hint)
}
