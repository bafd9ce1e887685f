package syntax

import (
	"fmt"
	"slices"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/language"
	"kanon.dev/kanon/rules/naming"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/yamltree"
)

// variables decodes a list of variables. open is true if some could not be read.
func (d *decoder) variables(n *yamltree.Node, path string) (out []Variable, open bool) {
	open = n.Kind != yamltree.Sequence || len(n.Lost) > 0
	for i, item := range d.list(n, path) {
		at := fmt.Sprintf("%s[%d]", path, i)
		v := Variable{Pos: d.src.At(item)}
		d.object(item, at, language.Variable(), decoders{
			"name": func(n *yamltree.Node) {
				v.Pos = d.src.At(n)
				v.Name = d.identifier(n, at+".name")
				if first := slices.IndexFunc(out, func(o Variable) bool { return o.Name == v.Name }); v.Name != "" && first >= 0 {
					d.report(n, diagnostic.CodeNameTwice, "two variables are called %q", v.Name).
						WithRelated(out[first].Pos, "the first one").WithHint("choose another name")
				}
			},
			"value": func(n *yamltree.Node) { v.Value = n },
		})
		open = open || v.Name == ""
		out = append(out, v)
	}
	return out, open
}

func (d *decoder) children(n *yamltree.Node, r *Rule) {
	r.OpenChildren = n.Kind != yamltree.Sequence || len(n.Lost) > 0
	for i, item := range d.list(n, "spec.children") {
		c := d.child(item, "spec.children", i, r.Children)
		r.OpenChildren = r.OpenChildren || c.ID == ""
		r.Children = append(r.Children, c)
	}
}

func (d *decoder) child(n *yamltree.Node, list string, index int, before []Child) Child {
	path := fmt.Sprintf("%s[%d]", list, index)
	c := Child{index: index, Pos: d.src.At(n), UpdatePolicy: UpdateApply}
	c.Gaps = d.object(n, path, language.Child(), decoders{
		"id": func(n *yamltree.Node) {
			c.Pos = d.src.At(n)
			c.ID = d.identifier(n, path+".id")
			if first := slices.IndexFunc(before, func(o Child) bool { return o.ID == c.ID }); c.ID != "" && first >= 0 {
				d.report(n, diagnostic.CodeNameTwice, "two children are called %q", c.ID).
					WithRelated(before[first].Pos, "the first one").WithHint("choose another id")
			}
		},
		"when": func(n *yamltree.Node) { c.When = d.expression(n, path+".when") },
		"forEach": func(n *yamltree.Node) {
			if n.Kind == yamltree.Mapping && !n.Has("name") && !n.Has("in") {
				c.SameAs = d.sameAs(n, path+".forEach")
				c.OpenNames = c.SameAs == nil
				return
			}
			d.items(n, path+".forEach", &c.Body)
		},
		"variables": func(n *yamltree.Node) { c.Variables, c.OpenVariables = d.variables(n, path+".variables") },
		"dependsOn": func(n *yamltree.Node) {
			for i, item := range d.list(n, path+".dependsOn") {
				id, _ := d.plainString(item, fmt.Sprintf("%s.dependsOn[%d]", path, i))
				c.DependsOn = append(c.DependsOn, Dependency{ID: id, Pos: d.src.At(item)})
			}
		},
		"readyWhen":  func(n *yamltree.Node) { c.ReadyWhen = d.expression(n, path+".readyWhen") },
		"createWhen": func(n *yamltree.Node) { c.CreateWhen = d.expression(n, path+".createWhen") },
		"updatePolicy": func(n *yamltree.Node) {
			c.UpdatePolicy, c.UpdatePolicyPos = d.updatePolicy(n, path+".updatePolicy"), d.src.At(n)
		},
		"rollout":        func(n *yamltree.Node) { c.Rollout = d.rollout(n, path+".rollout") },
		"deletionPolicy": func(n *yamltree.Node) { c.Deletion = d.deletionPolicy(n, path+".deletionPolicy") },
		"recreateWhen":   func(n *yamltree.Node) { c.RecreateWhen = d.expression(n, path+".recreateWhen") },
		"updateWhen":     func(n *yamltree.Node) { c.UpdateWhen = d.expression(n, path+".updateWhen") },
		"optional":       func(n *yamltree.Node) { c.Optional = d.boolean(n, path+".optional") },
		"adopt":          func(n *yamltree.Node) { c.Adopt = d.boolean(n, path+".adopt") },
		"ignore": func(n *yamltree.Node) {
			for i, item := range d.list(n, path+".ignore") {
				c.Ignore = d.ignored(item, path, i, c.Ignore)
			}
		},
		"template": func(n *yamltree.Node) { c.Template = d.template(n, path+".template") },
	})
	c.lose(n)
	return c
}

// template returns a template, which must be a mapping; nil after a finding.
func (d *decoder) template(n *yamltree.Node, path string) *yamltree.Node {
	if n.Kind != yamltree.Mapping {
		d.report(n, diagnostic.CodeFieldType, "%s must be a mapping, and is %s", path, n.What())
		return nil
	}
	return n
}

// ignored decodes an item of ignore: a path, or a mapping with a path and a when.
func (d *decoder) ignored(n *yamltree.Node, path string, index int, before []Ignore) []Ignore {
	spec := Ignore{Place: fmt.Sprintf("ignore[%d]", index), Path: n}
	path += "." + spec.Place
	if n.Kind != yamltree.Mapping {
		if _, ok := d.plainString(n, path); !ok {
			return before
		}
		return append(before, spec)
	}
	spec.Path = nil
	d.object(n, path, language.Ignore(), decoders{
		"path": func(n *yamltree.Node) {
			if _, ok := d.plainString(n, path+".path"); ok {
				spec.Path = n
			}
		},
		"when": func(n *yamltree.Node) { spec.When = d.expression(n, path+".when") },
	})
	if spec.Path == nil {
		return before
	}
	return append(before, spec)
}

// lose records which parts of a body exist and could not be read.
func (b *Body) lose(n *yamltree.Node) {
	b.OpenNames = b.OpenNames || slices.Contains(n.Lost, "forEach")
	b.OpenVariables = b.OpenVariables || slices.Contains(n.Lost, "variables")
}

// items decodes the dimensions of a forEach.
func (d *decoder) items(n *yamltree.Node, path string, b *Body) {
	b.ForEach = d.forEach(n, path)
	b.OpenNames = n.Kind != yamltree.Sequence || len(n.Lost) > 0 ||
		slices.ContainsFunc(b.ForEach, func(f Dimension) bool { return f.Name == "" })
}

// sameAs decodes a forEach that shares the items of another child.
func (d *decoder) sameAs(n *yamltree.Node, path string) *Dependency {
	var same *Dependency
	d.object(n, path, language.SameAs(), decoders{
		"sameAs": func(n *yamltree.Node) {
			if id, ok := d.plainString(n, path+".sameAs"); ok {
				same = &Dependency{ID: id, Pos: d.src.At(n)}
			}
		},
	})
	return same
}

func (d *decoder) forEach(n *yamltree.Node, path string) []Dimension {
	var out []Dimension
	for i, item := range d.list(n, path) {
		at := fmt.Sprintf("%s[%d]", path, i)
		f := Dimension{pos: d.src.At(item)}
		d.object(item, at, language.Dimension(), decoders{
			"name": func(n *yamltree.Node) {
				f.pos = d.src.At(n)
				f.Name = d.dimensionName(n, at, out)
			},
			"in": func(n *yamltree.Node) {
				if s, ok := n.Text(); n.Kind == yamltree.Scalar && (!ok || !scanner.HasExpression(s)) {
					d.report(n, diagnostic.CodeNotExpression, "%s.in must be an expression that gives a list or a map, or a list, and is %s", at, n.What())
					return
				}
				f.In = n
			},
		})
		out = append(out, f)
	}
	if n.Kind == yamltree.Sequence && len(n.Items) == 0 && len(n.Lost) == 0 {
		d.report(n, diagnostic.CodeEmpty, "%s is empty", path)
	}
	return out
}

// dimensionName decodes the name of a dimension. before has the earlier dimensions.
func (d *decoder) dimensionName(n *yamltree.Node, path string, before []Dimension) string {
	name := d.identifier(n, path+".name")
	switch {
	case name == "":
	case naming.IsCELWord(name):
		d.report(n, diagnostic.CodeReservedName, "%s: %q is a word of CEL", path, name).WithHint("%s", otherName(name))
	case naming.IsReserved(name):
		d.report(n, diagnostic.CodeReservedName, "%s: %q is the name of something else in expressions", path, name).WithHint("%s", otherName(name))
	case slices.ContainsFunc(before, func(o Dimension) bool { return o.Name == name }):
		d.report(n, diagnostic.CodeNameTwice, "two items of forEach are called %q", name).WithHint("choose another name")
	}
	return name
}

// otherName is the hint for a name that forEach cannot use.
func otherName(name string) string {
	return fmt.Sprintf("write another name, such as %q, here and in the expressions", naming.Other(name))
}

// identifier decodes a name that expressions use behind a dot.
func (d *decoder) identifier(n *yamltree.Node, path string) string {
	s, ok := d.plainString(n, path)
	switch {
	case !ok:
		return ""
	case !naming.IsIdentifier(s):
		f := d.report(n, diagnostic.CodeUnusableName, "%s: %q cannot be used in expressions: a name is made of letters, digits and _ and does not start with a digit", path, s)
		if name := naming.CamelCase(s); name != "" {
			f.WithHint("write %q", name)
		}
		return ""
	case naming.IsCELValue(s):
		d.report(n, diagnostic.CodeReservedName, "%s: %q is a word of CEL", path, s).WithHint("choose another name")
		return ""
	}
	return s
}
