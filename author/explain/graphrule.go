package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// GraphOf is the graph of a rule that compiles. The error names an expression that does not.
func GraphOf(rule *syntax.Rule) (*Graph, error) {
	env, err := celenv.Shared()
	if err != nil {
		return nil, err
	}
	b := &builder{env: env, rule: rule, graph: &Graph{Rule: rule.Name}, variables: map[string][]read{}}
	b.build()
	return b.graph, b.err
}

// builder makes a graph.
type builder struct {
	env   *celenv.Env
	rule  *syntax.Rule
	graph *Graph
	// variables caches the reads of the rule's variables.
	variables map[string][]read
	err       error
}

func (b *builder) build() {
	spec, parent := specOf(b.rule), b.rule.Parent
	of := spec.Get("parent")
	selects := notes(of, "selector", "namespaces", "namespaceSelector", "when")
	settings := notes(spec, "requeueAfter", "minInterval", "deleteWhen")
	for _, note := range notes(spec.Get("finalize"), "until", "timeout") {
		settings = append(settings, "finalize "+note)
	}
	b.graph.Nodes = append(b.graph.Nodes, GraphNode{
		ID: "parent", Kind: NodeParent, Name: parent.GVK.Kind, Object: parent.GVK.GroupVersion().String(), Notes: slices.Concat(selects, settings),
	})
	b.watch(parent.GVK.Kind, selects)
	if parent.NamespaceSelector != nil {
		b.watch("Namespace", notes(of, "namespaceSelector"))
	}
	// These expressions belong to no node.
	for _, part := range []*yamltree.Node{of.Get("when"), spec.Get("requeueAfter"), spec.Get("minInterval"), spec.Get("finalize").Get("until")} {
		b.reads(part, rootNames())
	}
	for i := range b.rule.Lookups {
		l := &b.rule.Lookups[i]
		b.watch(l.GVK.Kind, notes(l.Node, selecting()...))
		b.add(GraphNode{
			ID: "lookups." + l.ID, Kind: NodeLookup, Name: l.ID, Object: objects(l.GVK, l.ForEach), Notes: notes(l.Node, append(selecting(), "optional", "when")...),
		}, l.ForEach, l.Node)
	}
	nodes := slices.Concat(items(spec.Get("children")), items(spec.Get("finalize").Get("children")))
	for i := range b.rule.Children {
		b.child(&b.rule.Children[i], nodes[i])
	}
	nodes = items(spec.Get("patches"))
	for i := range b.rule.Patches {
		p := &b.rule.Patches[i]
		target, targets := b.rule.Parent.GVK, []string(nil)
		if p.Target != nil {
			target, targets = p.Target.GVK, notes(p.Target.Node, selecting()...)
			b.watch(target.Kind, targets)
		}
		for _, field := range fieldsOf(p.Template) {
			b.graph.Writes = append(b.graph.Writes, fmt.Sprintf("%s %s (patch %s)", target.Kind, field, p.ID))
		}
		b.add(GraphNode{
			ID: "patches." + p.ID, Kind: NodePatch, Name: p.ID, Object: objects(target, p.ForEach), Notes: append(targets, notes(nodes[i], "optional", "when")...),
		}, p.ForEach, nodes[i])
	}
	b.status(spec)
	for _, list := range []*[]string{&b.graph.Watches, &b.graph.Reads, &b.graph.Writes} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// status adds the status, with what else the rule reports or decides about the parent.
func (b *builder) status(spec *yamltree.Node) {
	var reports []string
	for _, c := range b.rule.Conditions {
		reports = append(reports, "condition "+c.Type)
	}
	for _, e := range b.rule.Events {
		if reason, ok := e.Reason.Text(); ok {
			reports = append(reports, "Event "+reason)
		}
	}
	parts := []*yamltree.Node{spec.Get("status"), spec.Get("deleteWhen"), spec.Get("conditions"), spec.Get("events")}
	if slices.ContainsFunc(parts, func(n *yamltree.Node) bool { return n != nil }) {
		b.add(GraphNode{ID: "status", Kind: NodeStatus, Name: "status", Notes: reports}, nil, parts...)
	}
	if b.rule.Status != nil || len(b.rule.Conditions) > 0 {
		b.graph.Writes = append(b.graph.Writes, "the status of "+b.rule.Parent.GVK.Kind)
	}
}

func (b *builder) child(c *syntax.Child, n *yamltree.Node) {
	about := notes(n,
		"when", "createWhen", "updateWhen", "recreateWhen", "readyWhen", "rollout", "optional", "updatePolicy", "adopt", "deletionPolicy", "ignore")
	if c.Cleanup {
		about = append(about, "while the parent is being deleted")
	}
	gvk, dimensions := syntax.TemplateGVK(c.Template), b.dimensions(c)
	b.watch(gvk.Kind, []string{"children of the rule"})
	b.graph.Writes = append(b.graph.Writes, fmt.Sprintf("%s (child %s)", gvk.Kind, c.ID))
	b.add(GraphNode{ID: c.ID, Kind: NodeChild, Name: c.ID, Object: objects(gvk, dimensions), Notes: about}, dimensions, n)
	for _, dependency := range c.DependsOn {
		b.edge(GraphEdge{From: dependency.ID, To: c.ID, Waits: true})
	}
	if c.SameAs != nil {
		b.edge(GraphEdge{From: c.SameAs.ID, To: c.ID})
	}
}

// specOf is the spec of a rule as written.
func specOf(rule *syntax.Rule) *yamltree.Node {
	var ignored diagnostic.List // the decoder has reported what is wrong
	for _, document := range rule.Source.Documents() {
		roots, _ := rule.Source.Parse(document)
		for _, root := range roots {
			n := rule.Source.Build(root, &ignored)
			if name := n.Get("metadata").Get("name"); name != nil && rule.Source.At(name) == rule.Position {
				return n.Get("spec")
			}
		}
	}
	return nil
}

// selecting are the fields that select the objects of a lookup, or the targets of a patch.
func selecting() []string { return []string{"name", "namespace", "selector"} }

// notes are fields of a part of a rule, as it writes them.
func notes(n *yamltree.Node, names ...string) []string {
	var all []string
	for _, name := range names {
		if value := n.Get(name); value != nil {
			text, isText := expressionIn(value)
			switch {
			case !isText:
				text = shownValue(value.Plain(), false)
			case slices.Contains(selecting(), name): // a text, in which braces show an expression
				text, _ = value.Text()
			}
			all = append(all, name+" "+text)
		}
	}
	return all
}

func items(n *yamltree.Node) []*yamltree.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// watch records that the rule watches objects of a kind. about restricts which.
func (b *builder) watch(kind string, about []string) {
	b.graph.Watches = append(b.graph.Watches, strings.Join(append([]string{kind}, about...), ", "))
}

// dimensions are the forEach dimensions of a child, or of the child that sameAs names.
func (b *builder) dimensions(c *syntax.Child) []syntax.Dimension {
	for c.SameAs != nil {
		i := slices.IndexFunc(b.rule.Children, func(other syntax.Child) bool { return other.ID == c.SameAs.ID })
		if i < 0 {
			return nil
		}
		c = &b.rule.Children[i] // the compiler refuses cycles
	}
	return c.ForEach
}

// expressionIn is the text of a value, without the braces if it is a single expression; false if there is no value.
func expressionIn(n *yamltree.Node) (string, bool) {
	text, ok := n.Text()
	if !ok {
		return "", false
	}
	if parts, err := yamltree.Scan(strings.TrimSpace(text)); err == nil && len(parts) == 1 && parts[0].Expr {
		text = parts[0].Text
	}
	return strings.Join(strings.Fields(text), " "), true
}

// objects describes the objects of a node, such as "Deployment" or "Deployment, for each region".
func objects(gvk schema.GroupVersionKind, dimensions []syntax.Dimension) string {
	if len(dimensions) == 0 {
		return gvk.Kind
	}
	names := make([]string, len(dimensions))
	for i, dimension := range dimensions {
		names[i] = dimension.Name
	}
	return fmt.Sprintf("%s, for each %s", gvk.Kind, strings.Join(names, ", "))
}

// add adds a node, and edges from all nodes that its parts read. If there are none, it adds an edge from the parent.
func (b *builder) add(node GraphNode, dimensions []syntax.Dimension, parts ...*yamltree.Node) {
	b.graph.Nodes = append(b.graph.Nodes, node)
	names := rootNames()
	for _, dimension := range dimensions {
		names = append(names, dimension.Name)
	}
	for _, part := range parts {
		for _, read := range b.reads(part, names) {
			b.edge(GraphEdge{From: read.id, To: node.ID, Observes: read.observed})
		}
	}
	if !slices.ContainsFunc(b.graph.Edges, func(e GraphEdge) bool { return e.To == node.ID }) {
		b.edge(GraphEdge{From: "parent", To: node.ID})
	}
}

func (b *builder) edge(found GraphEdge) {
	if found.From == found.To {
		return // a child that reads its own observed object
	}
	for i, e := range b.graph.Edges {
		if e.From == found.From && e.To == found.To {
			b.graph.Edges[i].Waits = e.Waits || found.Waits
			b.graph.Edges[i].Observes = e.Observes && found.Observes
			return
		}
	}
	b.graph.Edges = append(b.graph.Edges, found)
}

// read is a node that an expression reads.
type read struct {
	id string
	// observed is true for a read through "observed".
	observed bool
}

// reads lists the nodes that the expressions in a part of the rule read, directly or through variables.
func (b *builder) reads(n *yamltree.Node, names celenv.Scope) []read {
	var ids []read
	for n := range n.All() {
		text, _ := n.Text()
		parts, err := yamltree.Scan(text)
		if err != nil {
			b.fail(err)
		}
		for _, part := range parts {
			if part.Expr {
				ids = append(ids, b.expression(part.Text, names)...)
			}
		}
	}
	return ids
}

func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = fmt.Errorf("rule %s: %w", b.rule.Name, err)
	}
}

func (b *builder) expression(text string, names celenv.Scope) []read {
	x, issues := b.env.Compile(text, names)
	if len(issues) > 0 {
		b.fail(fmt.Errorf("%s: %s", text, issues[0].Message))
		return nil
	}
	var ids []read
	for _, e := range reads(x, names) {
		path := flow.PathOf(e)
		steps := path.Names()
		if len(steps) < 2 {
			continue
		}
		b.readsField(steps)
		switch name := steps[1]; path.RootName() {
		case flow.RootLookups:
			ids = append(ids, read{id: "lookups." + name})
		case flow.RootChildren, flow.RootEach, flow.RootObserved:
			ids = append(ids, read{id: name, observed: path.RootName() == flow.RootObserved})
		case flow.RootVariables:
			ids = append(ids, b.variable(name)...)
		}
	}
	return ids
}

// variable lists the nodes that a variable of the rule reads.
func (b *builder) variable(name string) []read {
	if ids, known := b.variables[name]; known {
		return ids
	}
	b.variables[name] = nil // the compiler refuses cycles; this ends the recursion all the same
	for _, v := range b.rule.Variables {
		if v.Name == name {
			b.variables[name] = b.reads(v.Value, rootNames())
		}
	}
	return b.variables[name]
}

// readRoots are the variables through which expressions read objects.
var readRoots = []string{flow.RootParent, flow.RootLookups, flow.RootChildren, flow.RootObserved} //nolint:gochecknoglobals // a table

// plainStep matches a path step that needs no brackets.
var plainStep = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// readsField records a path that an expression reads.
func (b *builder) readsField(steps []string) {
	if !slices.Contains(readRoots, steps[0]) {
		return
	}
	var text strings.Builder
	text.WriteString(steps[0])
	for _, step := range steps[1:] {
		switch {
		case step == "*":
			text.WriteString("[…]")
		case plainStep.MatchString(step):
			text.WriteString("." + step)
		default:
			fmt.Fprintf(&text, "[%q]", step)
		}
	}
	b.graph.Reads = append(b.graph.Reads, text.String())
}

// fieldsOf lists the fields that the template of a patch sets, down to computed values and lists.
func fieldsOf(template *yamltree.Node) []string {
	var fields []string
	var walk func(n *yamltree.Node, path string)
	walk = func(n *yamltree.Node, path string) {
		if n == nil || n.Kind != yamltree.Mapping || len(n.Fields) == 0 {
			fields = append(fields, path)
			return
		}
		for _, field := range n.Fields {
			switch below := strings.TrimPrefix(path+"."+field.Name, "."); {
			case path == "" && (field.Name == "apiVersion" || field.Name == "kind"):
			case plainStep.MatchString(field.Name):
				walk(field.Value, below)
			default:
				walk(field.Value, fmt.Sprintf("%s[%q]", path, field.Name))
			}
		}
	}
	walk(template, "")
	return fields
}
