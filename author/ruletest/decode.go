package ruletest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Decode decodes a test file. It returns no file if the findings contain errors.
func Decode(path string, data []byte) (*File, diagnostic.Findings) {
	d := &decoder{source: yamltree.New(path, data)}
	f := &File{Path: path, Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), source: d.source, data: data}
	found := false
	for _, document := range d.source.Documents() {
		roots, finding := d.source.Parse(document)
		if finding != nil {
			d.list = append(d.list, finding)
		}
		for _, root := range roots {
			node := d.source.Build(root, &d.list)
			switch {
			case node == nil:
			case found:
				d.report(node, diagnostic.CodeNameTwice, "a file has one document of kind %s", syntax.TestKind)
			default:
				found = true
				d.file(node, f)
			}
		}
	}
	findings := d.list.Findings(d.source)
	if !found && len(findings) == 0 {
		d.list.Report(diagnostic.Position{File: path, Line: 1, Column: 1}, diagnostic.CodeForeignKind, "there is no document of kind %s", syntax.TestKind)
		findings = d.list.Findings(d.source)
	}
	if findings.HasErrors() {
		return nil, findings
	}
	return f, findings
}

type decoder struct {
	source *yamltree.Source
	list   diagnostic.List
}

// fields has the decoder for each field of a mapping, by name.
type fields map[string]func(n *yamltree.Node, path string)

func (d *decoder) report(n *yamltree.Node, code diagnostic.Code, format string, args ...any) *diagnostic.Finding {
	return d.list.Report(d.source.At(n), code, format, args...).About(n.Kind == yamltree.Scalar)
}

// mapping decodes the fields of a mapping, and reports unknown ones.
func (d *decoder) mapping(n *yamltree.Node, path string, known fields) {
	if n.Kind != yamltree.Mapping {
		d.report(n, diagnostic.CodeFieldType, "%s must be a mapping, and is %s", orFile(path), n.What())
		return
	}
	for _, f := range n.Fields {
		decode, ok := known[f.Name]
		if !ok {
			d.report(f.Key, diagnostic.CodeUnknownField, "unknown field %q in %s", f.Name, orFile(path)).
				WithHint("%s", diagnostic.DidYouMean(f.Name, slices.Sorted(maps.Keys(known))))
			continue
		}
		decode(f.Value, join(path, f.Name))
	}
}

func orFile(path string) string {
	if path == "" {
		return "the document"
	}
	return path
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (d *decoder) file(n *yamltree.Node, f *File) {
	if kind, _ := n.Get("kind").Text(); kind != syntax.TestKind {
		d.report(n, diagnostic.CodeForeignKind, "kind is %q, and not %s", kind, syntax.TestKind)
		return
	}
	d.mapping(n, "", fields{
		"apiVersion": func(n *yamltree.Node, path string) {
			if text := d.text(n, path); text != syntax.APIVersion {
				d.report(n, diagnostic.CodeAPIVersion, "apiVersion is %q, and not %s", text, syntax.APIVersion)
			}
		},
		"kind":     func(*yamltree.Node, string) {},
		"metadata": func(*yamltree.Node, string) {},
		"rule":     func(n *yamltree.Node, path string) { f.Rule = d.text(n, path) },
		"ruleName": func(n *yamltree.Node, path string) { f.RuleName = d.text(n, path) },
		"schemas":  func(n *yamltree.Node, path string) { f.Schemas = d.texts(n, path) },
		"now":      func(n *yamltree.Node, path string) { f.Now = d.time(n, path) },
		"parent":   func(n *yamltree.Node, path string) { f.Parent = d.object(n, path) },
		"cluster":  func(n *yamltree.Node, path string) { f.Cluster = d.objects(n, path) },
		"findings": func(n *yamltree.Node, path string) { f.Findings = d.expectedTexts(n, path) },
		"cases": func(n *yamltree.Node, path string) {
			names := map[string]bool{}
			for i, item := range d.items(n, path) {
				c := d.oneCase(item, fmt.Sprintf("%s[%d]", path, i), f.Now)
				if names[c.Name] {
					d.report(item, diagnostic.CodeNameTwice, "two cases are called %q", c.Name)
				}
				names[c.Name] = true
				f.Cases = append(f.Cases, c)
			}
		},
	})
	if len(f.Cases) == 0 && f.Findings == nil {
		d.report(n, diagnostic.CodeMissingField, "the document is missing cases")
	}
}

// oneCase decodes a case. The step fields of the case itself are its first step.
func (d *decoder) oneCase(n *yamltree.Node, path string, now time.Time) Case {
	c := Case{at: d.source.At(n), Now: now}
	first := Step{at: c.at}
	known := d.step(&first)
	several := n.Get("parents") != nil
	d.checkParents(n, path, several)
	known["name"] = func(n *yamltree.Node, path string) { c.Name = d.text(n, path) }
	known["parents"] = func(n *yamltree.Node, path string) { c.Parents = d.parents(n, path) }
	known["now"] = func(n *yamltree.Node, path string) { c.Now = d.time(n, path) }
	known["cluster"] = func(n *yamltree.Node, path string) { c.Cluster = d.objects(n, path) }
	var more []Step
	known["steps"] = func(n *yamltree.Node, path string) {
		for i, item := range d.items(n, path) {
			s := Step{at: d.source.At(item)}
			d.checkParents(item, fmt.Sprintf("%s[%d]", path, i), several)
			fields := d.step(&s)
			fields["name"] = func(n *yamltree.Node, path string) { s.Name = d.text(n, path) }
			d.mapping(item, fmt.Sprintf("%s[%d]", path, i), fields)
			if s.Name == "" {
				s.Name = fmt.Sprintf("step %d%s", i+1, s.changes())
			}
			more = append(more, s)
		}
	}
	d.mapping(n, path, known)
	if c.Name == "" {
		d.report(n, diagnostic.CodeMissingField, "%s is missing name", path)
	}
	c.Steps = append([]Step{first}, more...)
	return c
}

// parents decodes the parents of a case.
func (d *decoder) parents(n *yamltree.Node, path string) []expected[map[string]any] {
	all := []expected[map[string]any]{}
	for i, item := range d.items(n, path) {
		all = append(all, expected[map[string]any]{d.plainMapping(item, fmt.Sprintf("%s[%d]", path, i)), d.source.At(item)})
	}
	if len(all) == 0 && n.Kind == yamltree.Sequence {
		d.report(n, diagnostic.CodeEmpty, "%s is empty", path)
	}
	return all
}

// checkParents reports the fields of a step that a case with several parents cannot have, or one without.
func (d *decoder) checkParents(n *yamltree.Node, path string, several bool) {
	stray := func(f yamltree.Field, format string, args ...any) *diagnostic.Finding {
		return d.report(f.Key, diagnostic.CodeUnknownField, path+format, args...)
	}
	for _, f := range n.Entries() {
		if several && f.Name == "parent" {
			stray(f, " has parent, and the case has parents: it can have only one of them").
				WithHint("write fields in parents, and have a later step change one of them with set")
		}
	}
	for _, f := range n.Get("expect").Entries() {
		switch ofAll := slices.Contains([]string{"parents", "objects", "refused"}, f.Name); {
		case several && !ofAll:
			stray(f, ".expect.%s is about one parent, and the case has parents", f.Name).
				WithHint("write it in %s.expect.parents, below the name of the parent", path)
		case !several && f.Name == "parents":
			stray(f, ".expect has parents, and the case has none")
		}
	}
}

// changes summarises the changes of a step without a name, such as " (ready: deployment)"; empty if it has none.
func (s *Step) changes() string {
	var changes []string
	if s.Parent != nil {
		changes = append(changes, "parent")
	}
	if len(s.Set) > 0 {
		changes = append(changes, "set")
	}
	for _, each := range []struct {
		verb  string
		words []string
	}{{"ready", s.Ready}, {"failed", s.Failed}, {"delete", s.Delete}} {
		if len(each.words) > 0 {
			changes = append(changes, each.verb+": "+strings.Join(each.words, ", "))
		}
	}
	if s.After > 0 {
		changes = append(changes, "after "+s.After.String())
	}
	if len(changes) == 0 {
		return ""
	}
	return " (" + strings.Join(changes, "; ") + ")"
}

// step has the decoders for the fields of a step, except its name.
func (d *decoder) step(s *Step) fields {
	return fields{
		"parent": func(n *yamltree.Node, path string) { s.Parent = d.plainMapping(n, path) },
		"set":    func(n *yamltree.Node, path string) { s.Set = d.objects(n, path) },
		"ready":  func(n *yamltree.Node, path string) { s.Ready = d.texts(n, path) },
		"failed": func(n *yamltree.Node, path string) { s.Failed = d.texts(n, path) },
		"delete": func(n *yamltree.Node, path string) { s.Delete = d.texts(n, path) },
		"after":  func(n *yamltree.Node, path string) { s.After = d.duration(n, path) },
		"expect": func(n *yamltree.Node, path string) {
			d.expect(n, path, &s.Expect, fields{
				"refused": func(n *yamltree.Node, path string) { s.Expect.Refused = d.expectedTexts(n, path) },
				"parents": func(n *yamltree.Node, path string) { s.Expect.Parents = byName(d, n, path, d.expectOfParent) },
			})
		},
	}
}

func (d *decoder) expectOfParent(n *yamltree.Node, path string) Expect {
	var e Expect
	d.expect(n, path, &e, nil)
	return e
}

// expect decodes what is expected of a parent, and more.
func (d *decoder) expect(n *yamltree.Node, path string, e *Expect, more fields) {
	for _, f := range n.Fields {
		if f.Name == "output" {
			e.outputKey = f.Key
		}
	}
	known := fields{
		"children":   func(n *yamltree.Node, path string) { e.Children = d.anyByName(n, path) },
		"exactly":    func(n *yamltree.Node, path string) { e.Exactly = d.anyByName(n, path) },
		"conditions": func(n *yamltree.Node, path string) { e.Conditions = d.anyByName(n, path) },
		"objects": func(n *yamltree.Node, path string) {
			for i, item := range d.items(n, path) {
				e.Objects = append(e.Objects, expected[map[string]any]{d.plainMapping(item, fmt.Sprintf("%s[%d]", path, i)), d.source.At(item)})
			}
		},
		"parent":    func(n *yamltree.Node, _ string) { e.Parent = &expected[any]{n.Plain(), d.source.At(n)} },
		"status":    func(n *yamltree.Node, _ string) { e.Status = &expected[any]{n.Plain(), d.source.At(n)} },
		"waiting":   func(n *yamltree.Node, path string) { e.Waiting = d.textByName(n, path) },
		"failing":   func(n *yamltree.Node, path string) { e.Failing = d.textByName(n, path) },
		"skipped":   func(n *yamltree.Node, path string) { e.Skipped = oneOrMore(d, n, path, d.expectedText) },
		"that":      func(n *yamltree.Node, path string) { e.That = oneOrMore(d, n, path, d.expression) },
		"events":    func(n *yamltree.Node, path string) { e.Events = d.expectedTexts(n, path) },
		"created":   func(n *yamltree.Node, path string) { e.Created = d.expectedTexts(n, path) },
		"updated":   func(n *yamltree.Node, path string) { e.Updated = d.expectedTexts(n, path) },
		"deleted":   func(n *yamltree.Node, path string) { e.Deleted = d.expectedTexts(n, path) },
		"recreated": func(n *yamltree.Node, path string) { e.Recreated = d.expectedTexts(n, path) },
		"output": func(n *yamltree.Node, path string) {
			e.Output = &expected[string]{d.possiblyEmpty(n, path), d.source.At(n)}
		},
	}
	maps.Copy(known, more)
	d.mapping(n, path, known)
}

func (d *decoder) items(n *yamltree.Node, path string) []*yamltree.Node {
	if n.Kind != yamltree.Sequence {
		d.report(n, diagnostic.CodeFieldType, "%s must be a list, and is %s", path, n.What())
	}
	return n.Items
}

func (d *decoder) text(n *yamltree.Node, path string) string {
	text := d.possiblyEmpty(n, path)
	if text == "" && n.Kind == yamltree.Scalar && n.Value == "" {
		d.report(n, diagnostic.CodeEmpty, "%s is empty", path)
	}
	return text
}

func (d *decoder) possiblyEmpty(n *yamltree.Node, path string) string {
	text, ok := n.Text()
	if !ok {
		d.report(n, diagnostic.CodeFieldType, "%s must be a string, and is %s", path, n.What())
	}
	return text
}

// oneOrMore decodes a list, or one text as a list of one.
func oneOrMore[T any](d *decoder, n *yamltree.Node, path string, decode func(n *yamltree.Node, path string) T) []T {
	if _, ok := n.Text(); ok {
		return []T{decode(n, path)}
	}
	all := []T{}
	for i, item := range d.items(n, path) {
		all = append(all, decode(item, fmt.Sprintf("%s[%d]", path, i)))
	}
	return all
}

func (d *decoder) texts(n *yamltree.Node, path string) []string { return oneOrMore(d, n, path, d.text) }

func (d *decoder) expectedTexts(n *yamltree.Node, path string) *expected[[]string] {
	return &expected[[]string]{d.texts(n, path), d.source.At(n)}
}

func (d *decoder) expectedText(n *yamltree.Node, path string) expected[string] {
	return expected[string]{d.text(n, path), d.source.At(n)}
}

// expression decodes a CEL expression. A mapping is an expression with a colon that lacks quotes.
func (d *decoder) expression(n *yamltree.Node, path string) expected[string] {
	if n.Kind != yamltree.Mapping {
		return d.expectedText(n, path)
	}
	d.report(n, diagnostic.CodeFieldType, "%s must be an expression, and is %s", path, n.What()).WithHint("%s", yamltree.QuoteColon)
	return expected[string]{}
}

func (d *decoder) anyByName(n *yamltree.Node, path string) map[string]expected[any] {
	return byName(d, n, path, func(n *yamltree.Node, _ string) any { return n.Plain() })
}

func (d *decoder) textByName(n *yamltree.Node, path string) map[string]expected[string] {
	return byName(d, n, path, d.possiblyEmpty)
}

func byName[T any](d *decoder, n *yamltree.Node, path string, decode func(*yamltree.Node, string) T) map[string]expected[T] {
	if n.Kind != yamltree.Mapping {
		d.report(n, diagnostic.CodeFieldType, "%s must be a mapping, and is %s", path, n.What())
	}
	all := map[string]expected[T]{}
	for _, f := range n.Fields {
		all[f.Name] = expected[T]{decode(f.Value, join(path, f.Name)), d.source.At(f.Key)}
	}
	return all
}

func (d *decoder) plainMapping(n *yamltree.Node, path string) map[string]any {
	plain, ok := n.Plain().(map[string]any)
	if !ok {
		d.report(n, diagnostic.CodeFieldType, "%s must be a mapping, and is %s", path, n.What())
	}
	return plain
}

// object decodes an object, or the name of a file with one.
func (d *decoder) object(n *yamltree.Node, path string) object {
	o := object{at: d.source.At(n)}
	if file, ok := n.Text(); ok {
		o.file = file
		return o
	}
	if n.Kind != yamltree.Mapping {
		d.report(n, diagnostic.CodeFieldType, "%s must be an object, or the name of a file with one, and is %s", path, n.What())
		return o
	}
	o.fields = d.plainMapping(n, path)
	return o
}

func (d *decoder) objects(n *yamltree.Node, path string) []object {
	return oneOrMore(d, n, path, d.object)
}

func (d *decoder) time(n *yamltree.Node, path string) time.Time {
	at, err := time.Parse(time.RFC3339, d.text(n, path))
	if err != nil {
		d.report(n, diagnostic.CodeBadConstant, "%s is no time such as 2026-01-01T00:00:00Z", path)
	}
	return at
}

func (d *decoder) duration(n *yamltree.Node, path string) time.Duration {
	by, err := time.ParseDuration(d.text(n, path))
	if err != nil || by < 0 {
		d.report(n, diagnostic.CodeDuration, "%s is no duration such as 90s or 24h", path)
	}
	return by
}
