package rules

import (
	"fmt"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// variables decodes a list of variables. open is true where there are others
// than those that could be read.
func (d *decoder) variables(n *yamltree.Node, path string) (out []variableSpec, open bool) {
	open = n.Kind != yamltree.Sequence || len(n.Lost) > 0
	for i, item := range d.list(n, path) {
		at := fmt.Sprintf("%s[%d]", path, i)
		v := variableSpec{pos: d.src.At(item)}
		d.object(item, at, fields{
			"name": func(n *yamltree.Node) {
				v.pos = d.src.At(n)
				v.name = d.identifier(n, at+".name")
				if v.name != "" && slices.ContainsFunc(out, func(o variableSpec) bool { return o.name == v.name }) {
					d.report(n, diagnostic.CodeNameTwice, "two variables are called %q", v.name).WithHint("choose another name")
				}
			},
			"value": func(n *yamltree.Node) { v.value = n },
		}, "name", "value")
		open = open || v.name == ""
		out = append(out, v)
	}
	return out, open
}

func (d *decoder) children(n *yamltree.Node, r *Rule) {
	r.openChildren = n.Kind != yamltree.Sequence || len(n.Lost) > 0
	for i, item := range d.list(n, "spec.children") {
		c := d.child(item, "spec.children", i, r.children)
		r.openChildren = r.openChildren || c.id == ""
		r.children = append(r.children, c)
	}
}

func (d *decoder) child(n *yamltree.Node, list string, index int, before []childSpec) childSpec {
	path := fmt.Sprintf("%s[%d]", list, index)
	c := childSpec{index: index, pos: d.src.At(n), updatePolicy: UpdateApply}
	c.gaps = d.object(n, path, fields{
		"id": func(n *yamltree.Node) {
			c.pos = d.src.At(n)
			c.id = d.identifier(n, path+".id")
			if c.id != "" && slices.ContainsFunc(before, func(o childSpec) bool { return o.id == c.id }) {
				d.report(n, diagnostic.CodeNameTwice, "two children are called %q", c.id).WithHint("choose another id")
			}
		},
		"when": func(n *yamltree.Node) { c.when = d.expression(n, path+".when") },
		"forEach": func(n *yamltree.Node) {
			if n.Kind == yamltree.Mapping && !n.Has("name") && !n.Has("in") {
				c.sameAs = d.sameAs(n, path+".forEach")
				c.openNames = c.sameAs == nil
				return
			}
			d.items(n, path+".forEach", &c.bodySpec)
		},
		"variables": func(n *yamltree.Node) { c.variables, c.openVariables = d.variables(n, path+".variables") },
		"dependsOn": func(n *yamltree.Node) {
			for i, item := range d.list(n, path+".dependsOn") {
				id, _ := d.plainString(item, fmt.Sprintf("%s.dependsOn[%d]", path, i))
				c.dependsOn = append(c.dependsOn, dependency{id: id, pos: d.src.At(item)})
			}
		},
		"readyWhen":  func(n *yamltree.Node) { c.readyWhen = d.expression(n, path+".readyWhen") },
		"createWhen": func(n *yamltree.Node) { c.createWhen = d.expression(n, path+".createWhen") },
		"updatePolicy": func(n *yamltree.Node) {
			c.updatePolicy, c.updatePolicyPos = d.updatePolicy(n, path+".updatePolicy"), d.src.At(n)
		},
		"rollout":        func(n *yamltree.Node) { c.rollout = d.rollout(n, path+".rollout") },
		"deletionPolicy": func(n *yamltree.Node) { c.deletion = d.deletionPolicy(n, path+".deletionPolicy") },
		"recreateWhen":   func(n *yamltree.Node) { c.recreateWhen = d.expression(n, path+".recreateWhen") },
		"updateWhen":     func(n *yamltree.Node) { c.updateWhen = d.expression(n, path+".updateWhen") },
		"optional":       func(n *yamltree.Node) { c.optional = d.boolean(n, path+".optional") },
		"adopt":          func(n *yamltree.Node) { c.adopt = d.boolean(n, path+".adopt") },
		"ignore": func(n *yamltree.Node) {
			for i, item := range d.list(n, path+".ignore") {
				c.ignore = d.ignored(item, path, i, c.ignore)
			}
		},
		"template": func(n *yamltree.Node) {
			if n.Kind != yamltree.Mapping {
				d.report(n, diagnostic.CodeFieldType, "%s.template must be a mapping, and is %s", path, n.What())
				return
			}
			c.template = n
		},
	}, "id", "template")
	c.lose(n)
	return c
}

// ignored adds an item of ignore, which is a path, or a mapping with a path and a when.
func (d *decoder) ignored(n *yamltree.Node, path string, index int, before []ignoreSpec) []ignoreSpec {
	spec := ignoreSpec{place: fmt.Sprintf("ignore[%d]", index), path: n}
	path += "." + spec.place
	if n.Kind != yamltree.Mapping {
		if _, ok := d.plainString(n, path); !ok {
			return before
		}
		return append(before, spec)
	}
	spec.path = nil
	d.object(n, path, fields{
		"path": func(n *yamltree.Node) {
			if _, ok := d.plainString(n, path+".path"); ok {
				spec.path = n
			}
		},
		"when": func(n *yamltree.Node) { spec.when = d.expression(n, path+".when") },
	}, "path", "when")
	if spec.path == nil {
		return before
	}
	return append(before, spec)
}

func (d *decoder) updatePolicy(n *yamltree.Node, path string) UpdatePolicy {
	text, ok := d.plainString(n, path)
	if ok && !slices.Contains(updatePolicies(), text) {
		names := updatePolicies()
		d.report(n, diagnostic.CodeNotOneOf, "%s must be %s or %s, and is %q", path, strings.Join(names[:len(names)-1], ", "), names[len(names)-1], text).
			WithHint("%s", diagnostic.DidYouMean(text, updatePolicies()))
	}
	return UpdatePolicy(text)
}

// lose notes what of a body stands there and could not be read.
func (b *bodySpec) lose(n *yamltree.Node) {
	b.openNames = b.openNames || slices.Contains(n.Lost, "forEach")
	b.openVariables = b.openVariables || slices.Contains(n.Lost, "variables")
}

// items decodes the dimensions of a forEach.
func (d *decoder) items(n *yamltree.Node, path string, b *bodySpec) {
	b.forEach = d.forEach(n, path)
	b.openNames = n.Kind != yamltree.Sequence || len(n.Lost) > 0 ||
		slices.ContainsFunc(b.forEach, func(f forEachSpec) bool { return f.name == "" })
}

// sameAs decodes a forEach that has the items of another child.
func (d *decoder) sameAs(n *yamltree.Node, path string) *dependency {
	var same *dependency
	d.object(n, path, fields{
		"sameAs": func(n *yamltree.Node) {
			if id, ok := d.plainString(n, path+".sameAs"); ok {
				same = &dependency{id: id, pos: d.src.At(n)}
			}
		},
	}, "sameAs")
	return same
}

func (d *decoder) forEach(n *yamltree.Node, path string) []forEachSpec {
	var out []forEachSpec
	for i, item := range d.list(n, path) {
		at := fmt.Sprintf("%s[%d]", path, i)
		f := forEachSpec{pos: d.src.At(item)}
		d.object(item, at, fields{
			"name": func(n *yamltree.Node) {
				f.pos = d.src.At(n)
				f.name = d.dimensionName(n, at, out)
			},
			"in": func(n *yamltree.Node) {
				if s, ok := n.Text(); n.Kind == yamltree.Scalar && (!ok || !hasExpression(s)) {
					d.report(n, diagnostic.CodeNotExpression, "%s.in must be an expression that gives a list or a map, or a list, and is %s", at, n.What())
					return
				}
				f.in = n
			},
		}, "name", "in")
		out = append(out, f)
	}
	if n.Kind == yamltree.Sequence && len(n.Items) == 0 && len(n.Lost) == 0 {
		d.report(n, diagnostic.CodeEmpty, "%s is empty", path)
	}
	return out
}

// dimensionName is the name of a dimension after those in before.
func (d *decoder) dimensionName(n *yamltree.Node, path string, before []forEachSpec) string {
	name := d.identifier(n, path+".name")
	switch {
	case name == "":
	case isCELWord(name):
		d.report(n, diagnostic.CodeReservedName, "%s: %q is a word of CEL", path, name).WithHint("choose another name")
	case isReserved(name):
		d.report(n, diagnostic.CodeReservedName, "%s: %q is the name of something else in expressions", path, name).WithHint("choose another name")
	case slices.ContainsFunc(before, func(o forEachSpec) bool { return o.name == name }):
		d.report(n, diagnostic.CodeNameTwice, "two items of forEach are called %q", name).WithHint("choose another name")
	}
	return name
}

// identifier is a name that expressions use behind a dot: letters, digits and
// _, not starting with a digit, and none of the words that CEL has for values.
func (d *decoder) identifier(n *yamltree.Node, path string) string {
	s, ok := d.plainString(n, path)
	if !ok {
		return ""
	}
	valid := s[0] < '0' || s[0] > '9'
	for i := range len(s) {
		valid = valid && isNameByte(s[i])
	}
	switch {
	case !valid:
		d.report(n, diagnostic.CodeUnusableName, "%s: %q cannot be used in expressions: a name is made of letters, digits and _ and does not start with a digit", path, s).
			WithHint("%s", camelCase(s))
		return ""
	case s == "true" || s == "false" || s == "null" || s == "in":
		d.report(n, diagnostic.CodeReservedName, "%s: %q is a word of CEL", path, s).WithHint("choose another name")
		return ""
	}
	return s
}

// camelCase suggests a name without the characters that names cannot have.
func camelCase(s string) string {
	var out []byte
	upper := false
	for i := range len(s) {
		c := s[i]
		switch {
		case !isNameByte(c):
			upper = len(out) > 0
		case upper && c >= 'a' && c <= 'z':
			out, upper = append(out, c-'a'+'A'), false
		default:
			out, upper = append(out, c), false
		}
	}
	if len(out) == 0 || out[0] >= '0' && out[0] <= '9' {
		return ""
	}
	return fmt.Sprintf("write %q", string(out))
}

// isCELWord says whether CEL does not take a word for the name of a variable.
func isCELWord(s string) bool {
	switch s {
	case "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
		"loop", "namespace", "package", "return", "var", "void", "while":
		return true
	}
	return false
}

// isReserved says whether a name has a meaning of its own in expressions, in
// this version of the language or, by its design, in a later one.
func isReserved(s string) bool {
	switch s {
	case "parent", "variables", "lookups", "children", "observed", "each", "status", "self", "now", "finalizing",
		"cel", "math", "sets", "lists", "strings", "base64", "optional", "format",
		"bool", "bytes", "double", "duration", "dyn", "int", "list", "map", "null_type", "string", "timestamp", "type", "uint":
		return true
	}
	return false
}
