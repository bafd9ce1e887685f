package graph

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/scanner"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Of is the graph of a rule that compiles. The error names an expression that does not.
func Of(rule *syntax.Rule) (*Graph, error) {
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
	parent := b.rule.Parent
	b.graph.Nodes = append(b.graph.Nodes, Node{
		ID: "parent", Kind: Parent, Name: parent.GVK.Kind, Object: parent.GVK.GroupVersion().String(), Notes: slices.Concat(b.parentNotes(), b.timeNotes()),
	})
	b.watch(parent.GVK.Kind, b.parentNotes())
	if parent.NamespaceSelector != nil {
		b.watch("Namespace", []string{"with labels " + parent.NamespaceSelector.String()})
	}
	for _, part := range b.timeParts() {
		b.note(part)
	}
	for i := range b.rule.Lookups {
		l := &b.rule.Lookups[i]
		notes := whichObjects(l)
		b.watch(l.GVK.Kind, notes)
		if l.Optional {
			notes = append(notes, "optional")
		}
		b.add(Node{ID: "lookups." + l.ID, Kind: Lookup, Name: l.ID, Object: objects(l.GVK, &l.Body), Notes: append(notes, when(l.When)...)}, &l.Body, l.Node)
	}
	for i := range b.rule.Children {
		b.child(&b.rule.Children[i])
	}
	for i := range b.rule.Patches {
		p := &b.rule.Patches[i]
		target, node, notes := b.rule.Parent.GVK, (*yamltree.Node)(nil), []string(nil)
		if p.Target != nil {
			target, node, notes = p.Target.GVK, p.Target.Node, whichObjects(p.Target)
			b.watch(target.Kind, notes)
		}
		if p.Optional {
			notes = append(notes, "if the cluster has its kind")
		}
		for _, field := range fieldsOf(p.Template) {
			b.graph.Writes = append(b.graph.Writes, fmt.Sprintf("%s %s (patch %s)", target.Kind, field, p.ID))
		}
		b.add(Node{ID: "patches." + p.ID, Kind: Patch, Name: p.ID, Object: objects(target, &p.Body), Notes: append(notes, when(p.When)...)}, &p.Body, p.Template, node)
	}
	parts := []*yamltree.Node{b.rule.Status, b.rule.DeleteWhen}
	var notes []string
	for _, c := range b.rule.Conditions {
		parts = append(parts, c.Status, c.Reason, c.Message)
		notes = append(notes, "condition "+c.Type)
	}
	for _, e := range b.rule.Events {
		parts = append(parts, e.When, e.Reason, e.Message)
		if reason, ok := e.Reason.Text(); ok {
			notes = append(notes, "Event "+reason)
		}
	}
	if slices.ContainsFunc(parts, func(n *yamltree.Node) bool { return n != nil }) {
		b.add(Node{ID: "status", Kind: Status, Name: "status", Notes: notes}, &syntax.Body{}, parts...)
	}
	if b.rule.Status != nil || len(b.rule.Conditions) > 0 {
		b.graph.Writes = append(b.graph.Writes, "the status of "+parent.GVK.Kind)
	}
	for _, list := range []*[]string{&b.graph.Watches, &b.graph.Reads, &b.graph.Writes} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

func (b *builder) child(c *syntax.Child) {
	notes := when(c.When)
	for _, condition := range []struct {
		does string
		node *yamltree.Node
	}{{"created", c.CreateWhen}, {"updated", c.UpdateWhen}, {"recreated", c.RecreateWhen}, {"ready", c.ReadyWhen}} {
		for _, note := range when(condition.node) {
			notes = append(notes, condition.does+" "+note)
		}
	}
	if c.Rollout != nil {
		notes = append(notes, "rollout")
	}
	if c.Cleanup {
		notes = append(notes, "while the parent is being deleted")
	}
	if c.Optional {
		notes = append(notes, "if the cluster has its kind")
	}
	if c.UpdatePolicy != syntax.UpdateApply {
		notes = append(notes, "updatePolicy "+string(c.UpdatePolicy))
	}
	if c.Adopt {
		notes = append(notes, "adopts")
	}
	notes = append(notes, deletionNotes(c.Deletion)...)
	for _, ignored := range c.Ignore {
		if path, ok := ignored.Path.Text(); ok {
			notes = append(notes, strings.Join(append([]string{"ignores " + path}, when(ignored.When)...), " "))
		}
	}
	kind := syntax.TemplateGVK(c.Template).Kind
	b.watch(kind, []string{"children of the rule"})
	b.graph.Writes = append(b.graph.Writes, fmt.Sprintf("%s (child %s)", kind, c.ID))
	body := c.Body
	body.ForEach = b.dimensions(c)
	parts := []*yamltree.Node{c.Template, c.ReadyWhen, c.CreateWhen, c.UpdateWhen, c.RecreateWhen, c.Deletion.WhenPruned, c.Deletion.WhenDeleted}
	for _, ignored := range c.Ignore {
		parts = append(parts, ignored.When)
	}
	b.add(Node{ID: c.ID, Kind: Child, Name: c.ID, Object: objects(syntax.TemplateGVK(c.Template), &body), Notes: notes}, &body, parts...)
	for _, dependency := range c.DependsOn {
		b.edge(Edge{From: dependency.ID, To: c.ID, Waits: true})
	}
	if c.SameAs != nil {
		b.edge(Edge{From: c.SameAs.ID, To: c.ID})
	}
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

// when is the note for a condition; empty if there is none.
func when(n *yamltree.Node) []string {
	text, ok := expressionIn(n)
	if !ok {
		return nil
	}
	return []string{"when " + text}
}

// expressionIn is the text of a value, without the braces if it is a single expression; false if there is no value.
func expressionIn(n *yamltree.Node) (string, bool) {
	text, ok := n.Text()
	if !ok {
		return "", false
	}
	if parts, err := scanner.Scan(strings.TrimSpace(text)); err == nil && len(parts) == 1 && parts[0].Expr {
		text = parts[0].Text
	}
	return strings.Join(strings.Fields(text), " "), true
}

// objects describes the objects of a node, such as "Deployment" or "Deployment, for each region".
func objects(gvk schema.GroupVersionKind, body *syntax.Body) string {
	if len(body.ForEach) == 0 {
		return gvk.Kind
	}
	names := make([]string, len(body.ForEach))
	for i, dimension := range body.ForEach {
		names[i] = dimension.Name
	}
	return fmt.Sprintf("%s, for each %s", gvk.Kind, strings.Join(names, ", "))
}

// add adds a node, and edges from all nodes that its parts read. If there are none, it adds an edge from the parent.
func (b *builder) add(node Node, body *syntax.Body, parts ...*yamltree.Node) {
	b.graph.Nodes = append(b.graph.Nodes, node)
	parts = append(parts, body.When)
	for _, dimension := range body.ForEach {
		parts = append(parts, dimension.In)
	}
	for _, variable := range body.Variables {
		parts = append(parts, variable.Value)
	}
	names := celenv.Scope{
		flow.RootParent, flow.RootVariables, flow.RootLookups, flow.RootChildren, flow.RootObserved, flow.RootEach, flow.RootSelf,
		flow.RootStatus, flow.RootNow, flow.RootFinalizing,
	}
	for _, dimension := range body.ForEach {
		names = append(names, dimension.Name)
	}
	for _, part := range parts {
		for _, read := range b.reads(part, names) {
			b.edge(Edge{From: read.id, To: node.ID, Observes: read.observed})
		}
	}
	if !slices.ContainsFunc(b.graph.Edges, func(e Edge) bool { return e.To == node.ID }) {
		b.edge(Edge{From: "parent", To: node.ID})
	}
}

func (b *builder) edge(found Edge) {
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
		parts, err := scanner.Scan(text)
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
	within := map[int64]bool{} // operands of a longer path
	for e := range celenv.All(x.Root()) {
		for _, step := range flow.PathOf(e).Steps {
			within[step.Operand.ID()] = true
		}
	}
	for e := range celenv.All(x.Root()) {
		path := flow.PathOf(e)
		steps := path.Names()
		if len(steps) < 2 {
			continue
		}
		if !within[e.ID()] {
			b.readsField(steps)
		}
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
			b.variables[name] = b.reads(v.Value, celenv.Scope{
				flow.RootParent, flow.RootVariables, flow.RootLookups, flow.RootChildren, flow.RootObserved, flow.RootNow, flow.RootFinalizing,
			})
		}
	}
	return b.variables[name]
}
