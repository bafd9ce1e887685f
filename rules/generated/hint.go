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

// What is made at random is another value at each evaluation. So it can only stand
// where it is used once: in the template of a child that is made once and not changed
// after that, and in the child's variables, for the template; and as the default of a
// field that is generated once (program/generated.go). Whoever reads the child reads the live
// object, which has the value that it was made with.

// Place is a scalar whose expression calls random.
type Place struct {
	Rule     *syntax.Rule
	Children map[string]*syntax.Child
	Node     *yamltree.Node
	Expr     *celenv.Expression
	// Of is the child in whose template or variables it is and that can keep it; empty for none.
	Of string
	// IsTemplate is true in the child's template.
	IsTemplate bool
}

// Hint is how a value that is made at random is kept.
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

// ownVariableHint is the hint for a variable of the rule that could be one of a child; empty for
// everything else.
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

// isIdentity says whether a field is one of those that say which object it is, and cannot be generated.
func isIdentity(path []string) bool { return path[0] == "metadata" && len(path) < 3 }

// examplePath is a field that a hint shows where it is about no field that can be generated.
func examplePath() []string { return []string{"data", "password"} }

// readable is the field of a Secret from which what is written to stringData is read back.
func readable(path []string) []string {
	if path[0] != "stringData" {
		return path
	}
	return append([]string{"data"}, path[1:]...)
}

// value is the expression that generates a field of a child once, in place of what stands
// in n.
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

// yamlPath is a field of a template as a rule says it: data: {password: "…"}.
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

// pathTo is the way from a template to a value in it; false where that is an item of a list, below
// a key that is computed, or not in it.
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

// variableOf is the variable of a child in whose value a node stands; nil for none.
func variableOf(spec *syntax.Child, n *yamltree.Node) *syntax.Variable {
	for i := range spec.Variables {
		v := &spec.Variables[i]
		if _, within := pathTo(v.Value, n); within || v.Value == n {
			return v
		}
	}
	return nil
}

// fieldOf is the field of a template to which a variable is written, or one that it could be.
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
