package identity

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/naming"
	"kanon.dev/kanon/rules/reporting"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/yamltree"
)

// RBACGroup is the API group of RBAC, whose objects can have almost any characters in their names.
const RBACGroup = "rbac.authorization.k8s.io"

// CheckNames reports what the API server refuses in the name, the namespace, the labels and the keys of annotations, as
// far as they are literals.
func CheckNames(r *reporting.Reporter, metadata *yamltree.Node, kind schema.GroupKind) {
	hint := lowerNames
	if kind.Group == RBACGroup {
		hint = ""
	}
	checkWritten(r, metadata.Get("name"), "metadata.name", diagnostic.CodeObjectName, "a name", naming.OfKind(kind), hint)
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
func checkWritten(r *reporting.Reporter, n *yamltree.Node, at string, code diagnostic.Code, what string, check func(string) []string, hint string) {
	s, ok := n.Text()
	if !ok || s == "" {
		return
	}
	written := s
	if scanner.HasExpression(s) {
		parts, err := scanner.Scan(s)
		if err != nil || !slices.ContainsFunc(parts, func(p scanner.Part) bool { return !p.Expr }) {
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

// CheckConstantNames reports names that are the values of constant expressions and that Kubernetes does not accept.
// CheckNames checks literals.
func CheckConstantNames(r *reporting.Reporter, metadata *yamltree.Node, kind schema.GroupKind, constant func(n *yamltree.Node) (text string, part scanner.Part, ok bool)) {
	check := func(n *yamltree.Node, at string, code diagnostic.Code, what string, wrong func(string) []string) {
		if text, part, ok := constant(n); ok && len(wrong(text)) > 0 {
			r.ReportSpan(n, part.Offset, len(part.Text), code, "%s: %q is not %s that Kubernetes accepts", at, text, what)
		}
	}
	check(metadata.Get("name"), "metadata.name", diagnostic.CodeObjectName, "a name", naming.OfKind(kind))
	check(metadata.Get("namespace"), "metadata.namespace", diagnostic.CodeObjectName, "a namespace", validation.IsDNS1123Label)
	for _, f := range metadata.Get("labels").Entries() {
		check(f.Value, "metadata.labels."+f.Name, diagnostic.CodeLabel, "the value of a label", validation.IsValidLabelValue)
	}
}
