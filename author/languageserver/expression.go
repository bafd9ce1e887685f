package languageserver

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/author/explain"
	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/flow"
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
	receiver := "any"
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
	parent := get(get(get(c.root, "spec"), "parent"), "kind")
	all := []candidate{{label: flow.RootParent, kind: itemVariable, detail: explain.Meaning(flow.RootParent), at: parent}}
	if parent != nil && parent.Value != "" {
		all[0].detail = "the " + parent.Value + " that the rule is for"
	}
	names := []string{flow.RootVariables, flow.RootChildren, flow.RootLookups, flow.RootObserved, flow.RootNow, flow.RootFinalizing}
	for _, n := range c.nodes {
		for _, dimension := range items(get(n, "forEach")) {
			if name := get(dimension, "name"); name != nil && name.Value != "" {
				all = append(all, candidate{label: name.Value, kind: itemVariable, detail: "item of forEach", at: name})
			}
		}
		if get(get(n, "forEach"), "sameAs") != nil {
			names = append(names, flow.RootEach)
		}
	}
	if slices.Contains([]string{"readyWhen", "updateWhen", "recreateWhen"}, c.last()) {
		names = append(names, flow.RootSelf)
	}
	if slices.Contains(c.path, "events") {
		names = append(names, flow.RootStatus)
	}
	for _, name := range names {
		all = append(all, candidate{label: name, kind: itemVariable, detail: explain.Meaning(name)})
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
	var all []candidate
	for _, f := range explain.Functions(receiver) {
		if len(f.Forms) > maxForms {
			f.Forms = append(f.Forms[:maxForms], "…")
		}
		all = append(all, candidate{label: f.Name, kind: itemFunction, detail: strings.Join(f.Forms, ", "), doc: f.Doc})
	}
	return all
}
