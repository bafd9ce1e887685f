package rules

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/check"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Inference completes the definitions that come from spec.parent.schema: each field that spec.status sets gets the type
// of its expression.
type Inference struct {
	// Schemas has the kinds that no rule of the documents defines.
	Schemas openapi.Schemas
	// Awaits reports whether the schema of a kind that Schemas lacks may still come; nil: none does.
	Awaits func(gvk schema.GroupVersionKind) bool
}

// maxInferences bounds the passes over rules whose statuses take their types from one another.
const maxInferences = 10

// Infer completes the definitions of the documents, between their decoding and Compile. A kind that a rule of the same text
// defines is as that rule says; another kind is as a rule of the other documents says, or Schemas. The findings are about
// fields whose type is not known, and about paths of columns that lead nowhere; they make a rule partial. A rule that waits
// for a kind has no finding, and Parent.Awaits names the kind.
//
// An expression may read the parent's own status, whose types are inferred. So a rule is compiled with a status of any
// fields, and again with the types that were found, until no new one is found. In the same way, the rules are processed
// again while the types of other kinds become known.
func (in Inference) Infer(all ...*syntax.Documents) diagnostic.Findings {
	made := openapi.Kinds{}
	var todo []*inference
	for _, docs := range all {
		for _, rule := range slices.Concat(docs.Rules, docs.Partial) {
			if rule.Parent.Definition != nil {
				todo = append(todo, &inference{Inference: in, docs: docs, rule: rule, made: made})
			}
		}
	}
	var changed []schema.GroupVersionKind
	for round := range maxInferences {
		before := changed
		changed = nil
		for _, i := range todo {
			if round > 0 && !i.uses(before) {
				continue
			}
			i.infer()
			changed = append(changed, i.publish()...)
		}
		if len(changed) == 0 {
			break
		}
	}
	var findings diagnostic.Findings
	for _, i := range todo {
		findings = append(findings, i.conclude()...)
	}
	return findings
}

// inference is the state for the status of one rule.
type inference struct {
	Inference
	docs *syntax.Documents
	rule *syntax.Rule
	// made are the kinds of all rules, as far as they are inferred.
	made openapi.Kinds
	// known are the schemas of the leaves of spec.status.
	known map[*yamltree.Node]map[string]any
	// given are the kinds that the text defines, as far as their status is known.
	given openapi.Kinds
	// untyped are the findings about fields whose type is not known.
	untyped diagnostic.Findings
}

func (i *inference) uses(kinds []schema.GroupVersionKind) bool {
	return slices.ContainsFunc(i.rule.Kinds(), func(gvk schema.GroupVersionKind) bool {
		return gvk != i.rule.Parent.GVK && slices.Contains(kinds, gvk)
	})
}

func (i *inference) publish() (changed []schema.GroupVersionKind) {
	kinds, err := openapi.FromCRD(i.rule.Parent.Definition)
	if err != nil { // the API server's validation reports it
		return nil
	}
	for gvk, s := range kinds {
		if before := i.made[gvk]; before == nil || before.Name != s.Name {
			i.made[gvk] = s
			changed = append(changed, gvk)
		}
	}
	return changed
}

// conclude returns the findings about the rule, and refuses a rule with errors.
func (i *inference) conclude() diagnostic.Findings {
	findings, awaited := i.rule.CheckPaths(), &i.rule.Parent.Awaits
	for _, f := range i.untyped {
		switch {
		case f.Missing == nil || i.Awaits == nil || !i.Awaits(*f.Missing):
			findings = append(findings, f)
		case !slices.Contains(*awaited, *f.Missing):
			*awaited = append(*awaited, *f.Missing)
		}
	}
	if findings.HasErrors() {
		i.docs.Refuse(i.rule)
	}
	return findings
}

func (i *inference) infer() {
	i.known, i.untyped = map[*yamltree.Node]map[string]any{}, nil
	i.rule.Parent.Untyped = false
	if i.rule.Status == nil {
		i.rule.DefineStatus(nil, false)
		return
	}
	for {
		i.define()
		status, err := compileStatus(i.rule, i)
		if err != nil { // compiling the rule as a whole reports it
			return
		}
		learned, missing := false, false
		i.rule.DefineStatus(func(n *yamltree.Node, _ []string) map[string]any {
			made := i.known[n]
			if made == nil {
				made = structural(status.statusSchema(n))
				i.known[n] = made
				learned, missing = learned || made != nil, missing || made == nil
			}
			return orAny(made)
		}, true)
		if !learned || !missing {
			i.finish(status)
			return
		}
	}
}

// finish builds the definition from the types that were found, and reports the fields without one.
func (i *inference) finish(status *compiler) {
	var list diagnostic.List
	reported := map[*yamltree.Node]bool{}
	i.rule.DefineStatus(func(n *yamltree.Node, path []string) map[string]any {
		made := i.known[n]
		i.rule.Parent.Untyped = i.rule.Parent.Untyped || made == nil
		if made != nil || reported[n] || status.isWrongBelow(n) {
			return orAny(made)
		}
		reported[n] = true
		field := strings.Join(append([]string{"status"}, path...), ".")
		f := list.Report(i.rule.Source.At(n), diagnostic.CodeStatusType, "the type of %s cannot be inferred", field)
		hint := status.untypedHint(n)
		switch {
		case hint != "":
			f.WithHint("%s", hint)
		case len(path) == 0:
			f.WithHint("write a mapping of fields, or type them in spec.parent.schema.status")
		case status.readsStatus(n, path):
			f.Message += ", because it depends on itself"
			fallthrough
		default:
			f.WithHint("write it in spec.parent.schema: status: %s", typedPath(path))
		}
		f.Missing = i.unknownKind(n)
		return orAny(nil)
	}, false)
	i.untyped = list.Findings(i.rule.Source)
}

// unknownKind is a kind without a schema that a part of the status reads; nil if there is none.
func (i *inference) unknownKind(n *yamltree.Node) *schema.GroupVersionKind {
	text := textOf(n)
	reads := func(id string) bool {
		return id != "" && regexp.MustCompile(`\.`+regexp.QuoteMeta(id)+`\b`).MatchString(text)
	}
	throughVariables := regexp.MustCompile(`\b` + flow.RootVariables + `\b`).MatchString(text)
	check := func(id string, gvk schema.GroupVersionKind) *schema.GroupVersionKind {
		if gvk.Kind != "" && (reads(id) || throughVariables) && i.Schema(gvk) == nil {
			return &gvk
		}
		return nil
	}
	for n := range i.rule.Lookups {
		if found := check(i.rule.Lookups[n].ID, i.rule.Lookups[n].GVK); found != nil {
			return found
		}
	}
	for n := range i.rule.Children {
		template := i.rule.Children[n].Template
		if template == nil {
			continue
		}
		if found := check(i.rule.Children[n].ID, syntax.TemplateGVK(template)); found != nil {
			return found
		}
	}
	return nil
}

func textOf(n *yamltree.Node) string {
	var b strings.Builder
	for n := range n.All() {
		text, _ := n.Text()
		b.WriteString(text + "\n")
	}
	return b.String()
}

func (i *inference) define() {
	i.given = openapi.Kinds{}
	for _, crd := range i.docs.DefinitionsOf(i.rule.Source) {
		if kinds, err := openapi.FromCRD(crd); err == nil {
			maps.Copy(i.given, kinds)
		}
	}
}

func (i *inference) Schema(gvk schema.GroupVersionKind) *openapi.Schema {
	return openapi.Layers{i.given, i.made, i.Schemas}.Schema(gvk)
}

func structural(s *openapi.Schema) map[string]any {
	if s == nil {
		return nil
	}
	if made, ok := s.Structural(); ok {
		return made
	}
	return nil
}

func typedPath(path []string) string {
	text := path[len(path)-1] + ": TYPE"
	for _, name := range slices.Backward(path[:len(path)-1]) {
		text = name + ": {" + text + "}"
	}
	return "{" + text + "}"
}

func orAny(made map[string]any) map[string]any {
	if made == nil {
		return map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	}
	return made
}

// compileStatus compiles spec.status, and what it reads, with the types that are known so far.
func compileStatus(r *syntax.Rule, schemas openapi.Schemas) (*compiler, error) {
	env, err := celenv.Shared()
	if err != nil {
		return nil, err
	}
	c := newCompiler(r, Options{Schemas: schemas}, env)
	c.declare()
	c.parent(&flow.Uses{})
	c.status(&flow.Uses{})
	return c, nil
}

func (c *compiler) isWrongBelow(n *yamltree.Node) bool {
	for n := range n.All() {
		if text, _ := n.Text(); yamltree.HasExpression(text) {
			if r, compiled := c.results[n]; !compiled || r.wrong {
				return true
			}
		}
	}
	return false
}

// untypedHint says what to write in place of an expression whose values JSON does not have; "" if JSON may have them.
func (c *compiler) untypedHint(n *yamltree.Node) string {
	if x := c.results[n].x; x != nil {
		return x.UntypedHint()
	}
	return ""
}

func (c *compiler) readsStatus(n *yamltree.Node, path []string) bool {
	own := regexp.QuoteMeta(flow.RootParent + ".status." + strings.Join(path, "."))
	text := strings.ReplaceAll(c.results[n].part.Text, "?", "") // of optional reads
	return regexp.MustCompile(`\b` + own + `\b`).MatchString(text)
}

// statusSchema is the schema of the values of a part of spec.status; nil if it is not known.
func (c *compiler) statusSchema(n *yamltree.Node) *openapi.Schema {
	switch n.Kind {
	case yamltree.Mapping:
		return c.statusFields(n)
	case yamltree.Sequence:
		var items []*openapi.Schema
		for _, item := range n.Items {
			of := c.statusSchema(item)
			if r := c.results[item]; r.x != nil && r.part.Spread {
				of = r.x.Items(c.types)
			}
			items = append(items, of)
		}
		return check.CollectionSchema(openapi.List, items)
	}
	text, isText := n.Text()
	if !isText || !yamltree.HasExpression(text) {
		return check.ScalarSchema(check.ScalarType(n.Value).Kind())
	}
	switch r, compiled := c.results[n]; {
	case !compiled:
		return nil
	case r.x == nil: // text around expressions
		return &openapi.Schema{Type: openapi.String}
	default:
		return r.x.Written(c.types)
	}
}

func (c *compiler) statusFields(n *yamltree.Node) *openapi.Schema {
	made := &openapi.Schema{Type: openapi.Object, Fields: map[string]*openapi.Field{}}
	var values []*openapi.Schema
	computed := false
	for _, f := range n.Fields {
		if f.Value.Kind == yamltree.Scalar && f.Value.Value == nil {
			continue // null leaves a field out
		}
		of := c.statusSchema(f.Value)
		if of == nil {
			return nil
		}
		computed = computed || yamltree.HasExpression(f.Name)
		values, made.Fields[f.Name] = append(values, of), &openapi.Field{Schema: of}
	}
	if computed || len(values) == 0 {
		return check.CollectionSchema(openapi.Map, values)
	}
	return made
}
