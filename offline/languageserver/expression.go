package languageserver

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/docs"
	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/check"
)

// inExpression lists the names that can be at the marker in an expression.
func (s *server) inExpression(ctx context.Context, c *cursor) []candidate {
	before := strings.TrimRight(*c.expression, " \n")
	if !strings.HasSuffix(before, ".") && !strings.HasSuffix(before, ".?") {
		return append(c.roots(), functions("")...)
	}
	if m := regexp.MustCompile(`(?:^|[^.\w])(children|observed|lookups|variables|each)\s*\.\??$`).FindStringSubmatch(before); m != nil {
		group := map[string]string{"observed": "children", "each": "children"}[m[1]]
		if group == "" {
			group = m[1]
		}
		return c.ids(group)
	}
	var of *openapi.Schema
	receiver := "dyn"
	checked, _, err := s.check(ctx, c.text, rules.Options{Observe: func(x *check.Expression, table *check.Table) {
		for _, read := range x.FieldReads() {
			if strings.Contains(read.Name, marker) {
				of, receiver = table.Schema(read.Of), receiverOf(read.Of.CEL())
			}
		}
	}})
	if err != nil {
		return nil
	}
	var documentation *documented
	if m := regexp.MustCompile(`(?:^|[^.\w])parent((?:\.\??\w+)*)\.\??$`).FindStringSubmatch(before); m != nil {
		path := strings.FieldsFunc(m[1], func(r rune) bool { return r == '.' || r == '?' })
		documentation = &documented{checked.CRDs, gvkOf(get(get(c.root, "spec"), "parent")), path}
	}
	all := fieldsOf(of, documentation, nil, "")
	if receiver == "map" && len(all) > 0 {
		return all // an object; few call a function on one
	}
	return append(all, functions(receiver)...)
}

// roots are the names that an expression can start with.
func (c *cursor) roots() []candidate {
	spec := get(c.root, "spec")
	all := []candidate{{label: "parent", detail: "the object that the rule is for", at: get(get(spec, "parent"), "kind")}}
	if kind := get(get(spec, "parent"), "kind"); kind != nil && kind.Value != "" {
		all[0].detail = "the " + kind.Value + " that the rule is for"
	}
	for _, n := range c.nodes {
		for _, dimension := range items(get(n, "forEach")) {
			if name := get(dimension, "name"); name != nil && name.Value != "" {
				all = append(all, candidate{label: name.Value, detail: "item of forEach", at: name})
			}
		}
		if get(get(n, "forEach"), "sameAs") != nil {
			all = append(all, candidate{label: "each", detail: "the objects of the same item, by the ids of their children"})
		}
	}
	all = append(all,
		candidate{label: "variables", detail: "the variables of the rule, by their names"},
		candidate{label: "children", detail: "the live objects of children, by their ids"},
		candidate{label: "lookups", detail: "the objects of lookups, by their ids"},
		candidate{label: "observed", detail: "the live objects of children as they were before this evaluation, or null"},
	)
	if slices.Contains([]string{"readyWhen", "updateWhen", "recreateWhen"}, c.last()) {
		all = append(all, candidate{label: "self", detail: "the live object"})
	}
	if slices.Contains(c.path, "events") {
		all = append(all, candidate{label: "status", detail: "the status as it is rendered"})
	}
	all = append(all,
		candidate{label: "now", detail: "timestamp: the time of this evaluation"},
		candidate{label: "finalizing", detail: "bool: whether the parent is being deleted"},
	)
	for i := range all {
		all[i].kind = itemVariable
	}
	return all
}

// receiverOf is the type of a value as written in signatures of functions.
func receiverOf(t *types.Type) string {
	switch {
	case check.IsOptional(t):
		return "optional"
	case t.Kind() == types.StructKind:
		return "map" // objects are maps at run time
	default:
		return celenv.ShortType(t)
	}
}

// maxForms is the maximum number of signatures shown for a function.
const maxForms = 3

// functions lists the functions that can be called on a value of a type, such as string; with an empty receiver, those
// without a receiver.
func functions(receiver string) []candidate {
	env, err := celenv.Shared()
	if err != nil {
		return nil // the findings say so
	}
	var all []candidate
	for _, name := range env.FunctionNames() {
		doc, of := documentedFunction(name)
		var forms []string
		for _, form := range env.Signatures(name) {
			on, _, isMethod := strings.Cut(form, "."+name+"(")
			if isMethod && receiver != "" && fits(on, receiver) || !isMethod && receiver == "" {
				forms = append(forms, form)
			}
		}
		if len(env.Signatures(name)) == 0 && doc != "" && (of == "") == (receiver == "") && (fits(of, receiver) || of == "list" && receiver == "map") { // a macro
			forms = append(forms, name+"(…)")
		}
		if len(forms) > maxForms {
			forms = append(forms[:maxForms], "…")
		}
		if len(forms) > 0 {
			all = append(all, candidate{label: name, insert: name, kind: itemFunction, detail: strings.Join(forms, ", "), doc: doc})
		}
	}
	return all
}

// fits reports whether a receiver type accepts a value of a type.
func fits(on, receiver string) bool {
	return on == receiver || on == "any" || receiver == "any" || receiver == "dyn"
}

// documentedFunction is the documentation of a function in the reference, and the type that it is called on there.
func documentedFunction(name string) (doc, on string) {
	doc, _ = docs.Function(name)
	on, _, isMember := strings.Cut(strings.TrimPrefix(doc, "`"), "."+name+"(")
	if !isMember || strings.ContainsAny(on, "(`") {
		return doc, ""
	}
	return doc, on
}
