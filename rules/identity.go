package rules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// checkSameItems reports a forEach whose items would all be the same object. root is the child that has the forEach.
func (c *compiler) checkSameItems(spec, root *syntax.Child) {
	if len(root.ForEach) == 0 || root.Gaps["forEach"] {
		return
	}
	metadata := spec.Template.Get("metadata")
	name := metadata.Get("name")
	for _, n := range []*yamltree.Node{name, metadata.Get("namespace")} {
		text, ok := n.Text()
		switch {
		case n == nil:
		case !ok:
			return // the reason was reported
		case yamltree.HasExpression(text):
			if r, compiled := c.results[n]; !compiled || r.items { // with a mistake, it is not known what it reads
				return
			}
		}
	}
	if name == nil {
		return
	}
	f := c.ReportNode(name, diagnostic.CodeSameItem, "every item of %s is the same object: its name does not depend on %s", spec.Label(), root.ForEach[0].Name)
	c.Relate(f, root.ForEach[0].In, "the items are here").WithHint("make the name different for each item")
}

// atMostOneItem reports whether forEach certainly has at most one item, as in [x] and in cond ? [x] : [].
func (c *compiler) atMostOneItem(spec *syntax.Child) bool {
	return !slices.ContainsFunc(spec.ForEach, func(f syntax.Dimension) bool {
		switch {
		case f.In == nil:
			return false
		case f.In.Kind == yamltree.Mapping:
			return len(f.In.Fields) > 1
		case f.In.Kind == yamltree.Sequence:
			return len(f.In.Items) > 1 || len(f.In.Items) == 1 && yamltree.IsSpread(f.In.Items[0])
		}
		x := c.parsed(f.In)
		return x != nil && !atMostOne(x.Root())
	})
}

func atMostOne(e ast.Expr) bool {
	switch e.Kind() {
	case ast.ListKind:
		return e.AsList().Size() <= 1
	case ast.CallKind:
		if call := e.AsCall(); call.FunctionName() == operators.Conditional {
			return atMostOne(call.Args()[1]) && atMostOne(call.Args()[2])
		}
	default:
	}
	return false
}

// checkSteady reports a name or a namespace that changes with the clock, so that each evaluation would render another
// object.
func (c *compiler) checkSteady(spec *syntax.Child, from *flow.Origin) {
	metadata, n := from.Fields["metadata"], spec.Template.Get("metadata")
	if metadata == nil || n == nil {
		return
	}
	report := func(n *yamltree.Node, what string) {
		c.ReportNode(n, diagnostic.CodeMovingTime, "%s must not change with every second, which would create a new object each time, and this does, because it uses now", what).
			WithHint(`take steps, as in truncate(now, duration("1h"))`)
	}
	if n.Kind != yamltree.Mapping && metadata.Moves() {
		report(n, "metadata")
		return
	}
	for _, name := range []string{"name", "namespace"} {
		if n.Get(name) != nil && metadata.Fields[name].Moves() {
			report(n.Get(name), "metadata."+name)
		}
	}
}

// checkRandomIdentity reports a random name or namespace, with which each evaluation would render another object.
func (c *compiler) checkRandomIdentity(spec *syntax.Child, u *flow.Uses) {
	metadata := spec.Template.Get("metadata")
	for _, n := range []*yamltree.Node{metadata, metadata.Get("name"), metadata.Get("namespace")} {
		if n != nil && slices.Contains(u.Random, n) {
			c.ReportNode(n, diagnostic.CodeRandomIdentity, "%s would create a new object at every evaluation, because its name is random", spec.Label()).
				WithHint("render the name from what is different for each object")
		}
	}
}

func (c *compiler) checkSame(p *program.Program) {
	rule := c.rule
	type identity struct {
		schema.GroupKind
		flow.ObjectText
	}
	seen := map[identity]int{}
	for i, child := range p.Children {
		spec := &rule.Children[i]
		metadata := spec.Template.Get("metadata")
		name, ok := metadata.Get("name").Text()
		if !ok || spec.Many() || spec.Gaps["forEach"] || spec.Gaps["when"] || child.GVK.Kind == "" {
			continue
		}
		id := identity{child.GVK.GroupKind(), flow.ObjectTextOf(metadata.Get("name"), metadata.Get("namespace"))}
		first, twice := seen[id]
		if !twice {
			seen[id] = i
			continue
		}
		if !exclusive(spec, &rule.Children[first]) {
			c.ReportNode(metadata.Get("name"), diagnostic.CodeSameObject, "%s is the same object as %s: both are %s %s",
				spec.Label(), rule.Children[first].Label(), child.GVK.Kind, strconv.Quote(name)).
				WithRelated(rule.Source.At(rule.Children[first].Template.Get("metadata").Get("name")), "the first one")
		}
	}
}

// checkNamespaces reports a child in a Namespace that another child creates, and for which it does not wait. If somebody
// else has a Namespace of that name, only the Namespace would be refused.
func (c *compiler) checkNamespaces(p *program.Program) {
	owners := map[string]int{} // the texts of the names of Namespaces that the rule creates
	text := func(i int, field string) string {
		s, _ := c.rule.Children[i].Template.Get("metadata").Get(field).Text()
		return flow.SameText(s)
	}
	for i, child := range p.Children {
		if child.GVK.GroupKind() == (schema.GroupKind{Kind: "Namespace"}) && text(i, "name") != "" {
			owners[text(i, "name")] = i
		}
	}
	for i, child := range p.Children {
		owner, ok := owners[text(i, "namespace")]
		if !ok || owner == i || c.awaits(p, i, owner, map[int]bool{}) {
			continue
		}
		id := p.Children[owner].ID
		n := c.rule.Children[i].Template.Get("metadata").Get("namespace")
		c.ReportNode(n, diagnostic.CodeStrangeNamespace, "%s goes into the Namespace of %s, also if somebody else has a Namespace of that name", child.ID, id).
			WithHint("write dependsOn: [%s], so that it waits until that Namespace is a child", id)
	}
}

// allAnnotations matches an expression that copies all annotations of the parent.
var allAnnotations = regexp.MustCompile(`\bparent\.metadata\.\??annotations(\.orValue\(|[^\w.\[?]|$)`)

// checkMarks reports a template that copies all annotations of the parent, those of tools among them.
func (c *compiler) checkMarks() {
	for _, child := range c.rule.Children {
		n := child.Template.Get("metadata").Get("annotations")
		text, ok := n.Text()
		at := allAnnotations.FindStringIndex(text)
		if !ok || at == nil || strings.Contains(text, "withoutTools(") {
			continue
		}
		read := text[at[0]:][:strings.Index(text[at[0]:], "annotations")+len("annotations")]
		c.ReportSpan(n, at[0], len(read), diagnostic.CodeToolMarks, "%s has the marks of tools too, such as what kubectl applied last and what Argo CD tracks", read).
			WithHint("write withoutTools(parent.metadata.?annotations.orValue({}))")
	}
}

// awaits reports whether a child is written only once another one exists as a child, by what it reads or names.
func (c *compiler) awaits(p *program.Program, child, other int, visited map[int]bool) bool {
	if visited[child] {
		return false
	}
	visited[child] = true
	before := slices.Concat(p.Children[child].Needs, p.Children[child].WaitsFor)
	if same := c.rule.Children[child].SameAs; same != nil {
		if at, ok := p.ByID[same.ID]; ok {
			before = append(before, at)
		}
	}
	return slices.ContainsFunc(before, func(i int) bool { return i == other || c.awaits(p, i, other, visited) })
}

// exclusive reports whether two children have different conditions, so that one of them may be skipped.
func exclusive(a, b *syntax.Child) bool {
	if a.When == nil || b.When == nil {
		return false
	}
	at, _ := a.When.Text()
	bt, _ := b.When.Text()
	return at != bt
}

// checkRecursion reports a rule whose children are parents of the same rule, so that each would have children again.
func (c *compiler) checkRecursion(p *program.Program) {
	rule := c.rule
	parent := rule.Parent
	bounded := parent.When != nil || parent.Gaps["when"] || parent.Gaps["selector"]
	inNamespaces := len(p.Parent.Namespaces) > 0 || !isUnbounded(p.Parent.NamespaceSelector) ||
		parent.Gaps["namespaces"] || parent.Gaps["namespaceSelector"]
	for i, child := range p.Children {
		spec := &rule.Children[i]
		if bounded || mayEscape(p.Parent.Selector, spec.Template) || spec.When != nil || spec.Gaps["when"] || child.GVK.Kind == "" || child.GVK.GroupKind() != p.Parent.GVK.GroupKind() {
			continue
		}
		if inNamespaces && spec.Template.Get("metadata").Get("namespace") != nil {
			continue // the child may be in a namespace that the rule does not select
		}
		c.Report(child.Position, diagnostic.CodeRecursion, "%s is a %s like the parent, so every child would be a parent with children of its own without end", spec.Label(), child.GVK.Kind).
			WithRelated(parent.Pos, "the kind of the parent").WithHint("give the child a when, or the parent a selector or a when, that ends this")
	}
}

// mayEscape reports whether a selector may not match the objects of a template, by their labels.
func mayEscape(s labels.Selector, template *yamltree.Node) bool {
	if isUnbounded(s) {
		return false
	}
	set := template.Get("metadata").Get("labels")
	if text, isText := set.Text(); isText && yamltree.HasExpression(text) {
		return true
	}
	constant := labels.Set{}
	requirements, _ := s.Requirements()
	for _, requirement := range requirements {
		value := set.Get(requirement.Key())
		text, isText := value.Text()
		if value != nil && (!isText || yamltree.HasExpression(text)) {
			return true
		}
		if value != nil {
			constant[requirement.Key()] = text
		}
	}
	return !s.Matches(constant)
}

func isUnbounded(s labels.Selector) bool { return s == nil || s.Empty() }

// checkConstantNames reports names that are the values of constant expressions and that Kubernetes does not accept.
// check.MetadataNames checks literals.
func (c *compiler) checkConstantNames(metadata *yamltree.Node, kind schema.GroupKind) {
	check := func(n *yamltree.Node, at string, code diagnostic.Code, what string, wrong func(string) []string) {
		r := c.results[n]
		if n == nil || r.x == nil {
			return
		}
		if text, ok := c.constants.Of(r.x.run).Text(); ok && len(wrong(text)) > 0 {
			c.ReportSpan(n, r.part.Offset, len(r.part.Text), code, "%s: %q is not %s that Kubernetes accepts", at, text, what)
		}
	}
	check(metadata.Get("name"), "metadata.name", diagnostic.CodeObjectName, "a name", syntax.NamesOfKind(kind))
	check(metadata.Get("namespace"), "metadata.namespace", diagnostic.CodeObjectName, "a namespace", validation.IsDNS1123Label)
	for _, f := range metadata.Get("labels").Entries() {
		check(f.Value, "metadata.labels."+f.Name, diagnostic.CodeLabel, "the value of a label", validation.IsValidLabelValue)
	}
}

// random returns another value at each evaluation. So it is only allowed where its value is used once: in the template
// and the variables of a child with updatePolicy: CreateOnly, and as the default of a field that is generated once, as in
//
//	data: {password: "${observed.secret.?data.?password.orValue(bytes(random(24)))}"}
//
// The template must set the field that the expression reads (program/render.go keeps the values). Expressions that read
// the child read the live object, which has the value with which it was created.

// generatedIn is a child with generated values.
type generatedIn struct {
	*compiler
	spec *syntax.Child
	out  *program.Child
}

// checkGenerated records the fields of a compiled template that are generated once. It reports values that would not be
// kept, because the template does not set the field whose default they are. u is what the template reads.
func (c *compiler) checkGenerated(spec *syntax.Child, child *program.Child, locals map[string]*variable, u *flow.Uses) {
	kept := map[*yamltree.Node]bool{} // the values, in the template or of variables, that are kept
	var walk func(n *yamltree.Node, path []string)
	walk = func(n *yamltree.Node, path []string) {
		for _, f := range n.Fields {
			if !yamltree.HasExpression(f.Name) {
				walk(f.Value, append(slices.Clip(path), f.Name))
			}
		}
		x := c.parsed(n)
		if x == nil {
			return
		}
		if slices.Contains(u.Generated, n) && slices.Equal(flow.GeneratedPath(x.Root(), spec.ID), path) {
			kept[n] = true
			child.Generated = append(child.Generated, program.GeneratedField{Path: path})
		}
		if v := locals[flow.WholeVariable(x.Root())]; v != nil && len(v.Generated) > 0 && slices.Equal(v.Generated, path) {
			kept[v.spec.Value] = true
			child.Generated = append(child.Generated, program.GeneratedField{Path: path, Variable: true})
		}
	}
	walk(spec.Template, nil)
	in := generatedIn{c, spec, child}
	for _, n := range u.Generated {
		in.checkKept(n, kept[n] && len(c.results[n].others) == 0)
	}
	for _, name := range slices.Sorted(maps.Keys(locals)) {
		in.checkVariable(locals[name], kept)
	}
}

func (c generatedIn) checkKept(n *yamltree.Node, kept bool) {
	of := flow.RootObserved + "." + c.spec.ID
	switch path, found := pathTo(c.spec.Template, n); {
	case kept && isUnreadable(c.out, path):
		c.reportUnreadable(n)
	case !kept && found:
		c.ReportNode(n, diagnostic.CodeOutOfScope, "random gives another value at each evaluation, and this is not the field of %s that it is the default of", of).
			WithHint("let the whole value be that of its own field, as in %s", onceExample(c.spec))
	case !kept:
		c.ReportNode(n, diagnostic.CodeOutOfScope, "random gives another value at each evaluation, and this is not a field of %s that it can be the default of", of).
			WithHint("let the whole value be that of its own field, as in %s", onceExample(c.spec))
	}
}

// checkVariable reports a generated variable that the template does not keep in the field that the variable reads.
func (c generatedIn) checkVariable(v *variable, kept map[*yamltree.Node]bool) {
	if v.uses == nil || len(v.uses.Generated) == 0 || v.Value == nil {
		return
	}
	at, name := c.At(v.spec.Value), flow.RootVariables+"."+v.Name
	switch {
	case len(v.Generated) == 0:
		c.Report(at, diagnostic.CodeOutOfScope, "random gives another value at each evaluation, and it is not the whole value of %s that it is the default of", name).
			WithHint("let a variable be nothing but a field with its default, such as the field in %s, and compute others from it", onceExample(c.spec))
	case isUnreadable(c.out, v.Generated):
		c.reportUnreadable(v.spec.Value)
	case !kept[v.spec.Value]:
		field := strings.Join(v.Generated, ".")
		c.Report(at, diagnostic.CodeOutOfScope, "%s would be another value at each evaluation, because the template does not keep it in %s, which it reads", name, field).
			WithHint("set %s to ${%s} in the template", field, name)
	}
}

func isUnreadable(child *program.Child, path []string) bool {
	return syntax.IsSecret(child.GVK) && len(path) > 0 && path[0] == "stringData"
}

func (c generatedIn) reportUnreadable(n *yamltree.Node) {
	c.ReportNode(n, diagnostic.CodeOutOfScope, "a Secret's stringData is never read back, so random would give another value at each evaluation").
		WithHint("generate it in data: %s", onceExample(c.spec))
}

// RandomHint says how to keep the random value of the expression.
func (s *names) RandomHint() string {
	const once = "call it in the template, or in a variable, of a child with updatePolicy: CreateOnly"
	if spec := s.c.children[s.sc.OwnGenerated]; spec != nil {
		return fmt.Sprintf("generate it once, in the template, as in %s; or %s", onceExample(spec), once)
	}
	return once + ", and read the value from that child"
}

// onceExample is a field of a child that is generated once.
func onceExample(spec *syntax.Child) string {
	call := celenv.RandomName + "(24)"
	if syntax.IsSecret(syntax.TemplateGVK(spec.Template)) {
		call = "bytes(" + call + ")"
	}
	return fmt.Sprintf(`data: {password: "${%s.%s.?data.?password.orValue(%s)}"}`, flow.RootObserved, spec.ID, call)
}

// pathTo returns the path from a template to a value in it. It returns false if the value is in a list, below a
// computed key, or not in the template.
func pathTo(in, n *yamltree.Node) ([]string, bool) {
	for _, f := range in.Entries() {
		if yamltree.HasExpression(f.Name) {
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
