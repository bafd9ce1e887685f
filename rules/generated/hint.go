package generated

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/function"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// random returns another value at each evaluation. So it is only allowed where its value is used once: in the template
// and the variables of a child with updatePolicy: CreateOnly, and as the default of a field that is generated once
// (program/generated.go). Expressions that read the child read the live object, which has the value with which it was
// created.

// Place is a scalar whose expression calls random.
type Place struct {
	Rule     *syntax.Rule
	Children map[string]*syntax.Child
	Node     *yamltree.Node
	Expr     *celenv.Expression
	// Of is the child that has the scalar in its template or variables and can keep the value; empty for none.
	Of string
	// IsTemplate is true in the child's template.
	IsTemplate bool
}

// Hint says how to keep the random value.
func (p Place) Hint() string {
	const once = "call it in the template, or in a variable, of a child with updatePolicy: CreateOnly"
	if hint := p.ownVariableHint(); hint != "" {
		return hint
	}
	spec := p.Children[p.Of]
	if spec == nil || p.Node == nil {
		return once + ", and read the value from that child"
	}
	if path, ok := pathTo(spec.Template, p.Node); ok && p.IsTemplate && !isIdentity(path) {
		return fmt.Sprintf("generate it once: %s; or %s", yamlPath(readable(path), value(spec, path, p.Node)), once)
	}
	if v := variableOf(spec, p.Node); v != nil {
		path := fieldOf(spec, v)
		return fmt.Sprintf("generate it once: {name: %s, value: \"%s\"}, and in the template %s; or %s",
			v.Name, value(spec, path, p.Node), yamlPath(readable(path), "${variables."+v.Name+"}"), once)
	}
	return fmt.Sprintf("generate it once, in the template, as in %s; or %s", yamlPath(examplePath(), value(spec, examplePath(), p.Node)), once)
}

// ownVariableHint returns the hint for a variable of the rule that should be a variable of a child; "" for everything
// else.
func (p Place) ownVariableHint() string {
	for _, v := range p.Rule.Variables {
		if v.Value != p.Node {
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(p.Children)) {
			if path := flow.GeneratedPath(p.Expr.Root(), id); path != nil && !p.Children[id].Many() {
				return fmt.Sprintf("move it to the variables of %s, and set the field in the template there: %s", id, yamlPath(path, "${variables."+v.Name+"}"))
			}
		}
	}
	return ""
}

// isIdentity reports whether a field is metadata that identifies the object, and so cannot be generated.
func isIdentity(path []string) bool { return path[0] == "metadata" && len(path) < 3 }

// examplePath is the field that a hint shows if it is not about a field that can be generated.
func examplePath() []string { return []string{"data", "password"} }

// readable returns the field in which a value can be read back: data for the stringData of a Secret.
func readable(path []string) []string {
	if path[0] != "stringData" {
		return path
	}
	return append([]string{"data"}, path[1:]...)
}

// value returns the expression that generates a field of a child once, to replace the one in n.
func value(spec *syntax.Child, path []string, n *yamltree.Node) string {
	call := function.RandomName + "(24)"
	if text, ok := n.Text(); ok {
		if written := regexp.MustCompile(function.RandomName + `\(\d+\)`).FindString(text); written != "" {
			call = written
		}
	}
	path = readable(path)
	if syntax.IsSecret(syntax.TemplateGVK(spec.Template)) && path[0] == "data" {
		call = "bytes(" + call + ")"
	}
	var read strings.Builder
	for _, name := range path {
		if yamltree.IsPathName(name) && !strings.ContainsAny(name, "-$") && (name[0] < '0' || name[0] > '9') {
			read.WriteString(".?" + name)
		} else {
			read.WriteString("[?'" + name + "']")
		}
	}
	return "${" + flow.RootObserved + "." + spec.ID + read.String() + ".orValue(" + call + ")}"
}

// yamlPath returns a field of a template as YAML: data: {password: "…"}.
func yamlPath(path []string, value string) string {
	out := `"` + value + `"`
	for i, name := range slices.Backward(path) {
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") != "" {
			name = strconv.Quote(name)
		}
		out = name + ": " + out
		if i > 0 {
			out = "{" + out + "}"
		}
	}
	return out
}

// pathTo returns the path from a template to a value in it. It returns false if the value is in a list, below a
// computed key, or not in the template.
func pathTo(in, n *yamltree.Node) ([]string, bool) {
	for _, f := range in.Entries() {
		if scanner.HasExpression(f.Name) {
			continue
		}
		if f.Value == n {
			return []string{f.Name}, true
		}
		if path, ok := pathTo(f.Value, n); ok {
			return append([]string{f.Name}, path...), true
		}
	}
	return nil, false
}

// variableOf returns the variable of a child that has a node in its value, or nil.
func variableOf(spec *syntax.Child, n *yamltree.Node) *syntax.Variable {
	for i := range spec.Variables {
		v := &spec.Variables[i]
		if _, within := pathTo(v.Value, n); within || v.Value == n {
			return v
		}
	}
	return nil
}

// fieldOf returns the field of a template that is set to a variable, or else an example of one.
func fieldOf(spec *syntax.Child, v *syntax.Variable) []string {
	var found []string
	var walk func(n *yamltree.Node, path []string)
	walk = func(n *yamltree.Node, path []string) {
		if text, ok := n.Text(); ok && found == nil && flow.SameText(text) == "${variables."+v.Name+"}" {
			found = path
		}
		for _, f := range n.Entries() {
			if !scanner.HasExpression(f.Name) {
				walk(f.Value, append(slices.Clip(path), f.Name))
			}
		}
	}
	walk(spec.Template, nil)
	if found == nil {
		return []string{"data", v.Name}
	}
	return found
}
