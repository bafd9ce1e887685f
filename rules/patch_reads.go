package rules

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// fieldRead is a field that an expression reads of an object of the cluster.
type fieldRead struct {
	// root is what the path begins with: parent, or children.<id>, lookups.<id>,
	// observed.<id>.
	root string
	path []string
	// asks is true where only the presence of the field is asked for.
	asks bool
	text string
	pos  diagnostic.Position
}

// key tells reads of different fields apart.
func (r fieldRead) key() string {
	return strings.Join(append([]string{r.root, strconv.FormatBool(r.asks)}, r.path...), "\x00")
}

// noteFields collects what the expression reads, for a rule in which that is asked for.
func (a *analysis) noteFields() {
	if a.c.fieldReads == nil {
		return
	}
	inner := map[int64]bool{}
	nodes := a.expr.Nodes()
	for _, e := range nodes {
		if operand, _ := stepFrom(e); operand != nil {
			inner[operand.ID()] = true
		}
	}
	for _, e := range nodes {
		if inner[e.ID()] {
			continue // a part of a longer path
		}
		if path, ok := a.pathOf(e); ok {
			read := fieldRead{root: path[0], path: path[1:], text: a.expr.Source(e), pos: a.at(e.ID())}
			if isGroup(read.root) {
				if len(path) < 2 {
					continue
				}
				read.root, read.path = path[0]+"."+path[1], path[2:]
			}
			read.asks = e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly()
			a.uses.fields = append(a.uses.fields, read)
		}
	}
}

// pathOf is the path that a node reads, from its root on, as far as it is written
// out: what follows an index that is computed is not known.
func (a *analysis) pathOf(e ast.Expr) ([]string, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		name := e.AsIdent()
		_, item := a.scope.names[name]
		return []string{name}, name == rootParent || isGroup(name) && name != rootVariables || name == rootNow || item
	case ast.SelectKind:
		path, ok := a.pathOf(e.AsSelect().Operand())
		return extended(path, e.AsSelect().FieldName()), ok
	case ast.CallKind:
		call := e.AsCall()
		if !isStep(call.FunctionName()) {
			return nil, false
		}
		path, ok := a.pathOf(call.Args()[0])
		name, literal := literalText(call.Args()[1])
		if !literal && call.FunctionName() != operators.OptSelect {
			name = anyKey
		}
		return extended(path, name), ok
	default:
		return nil, false
	}
}

// anyKey stands in a path for a key or an index that is computed.
const anyKey = "*"

func extended(path []string, name string) []string {
	if len(path) > 0 && path[len(path)-1] == anyKey {
		return path
	}
	return append(slices.Clip(path), name)
}

// writtenField is a field that a template sets, as far as it is written out.
type writtenField struct {
	path []string
	as   writtenAs
}

type writtenAs uint8

const (
	// asValue: this and nothing else is set.
	asValue writtenAs = iota
	// asComputed: an expression gives it, or its keys.
	asComputed
	// asList: it is a list, whose other items are others'.
	asList
)

func written(n *yamltree.Node, path []string) []writtenField {
	switch n.Kind {
	case yamltree.Sequence:
		return []writtenField{{path: path, as: asList}}
	case yamltree.Scalar:
		if isWhole(n) {
			return []writtenField{{path: path, as: asComputed}}
		}
		return []writtenField{{path: path}}
	}
	var out []writtenField
	for _, f := range n.Fields {
		if syntax.HasExpression(f.Name) {
			out = append(out, writtenField{path: path, as: asComputed})
			continue
		}
		out = append(out, written(f.Value, append(slices.Clip(path), f.Name))...)
	}
	return out
}

// isWhole says whether a scalar is one expression and nothing else.
func isWhole(n *yamltree.Node) bool {
	text, _ := n.Text()
	parts, err := syntax.Scan(text)
	if err != nil {
		return false
	}
	_, whole := syntax.WholeExpression(parts)
	return whole
}

// isReadBy says whether what is read has, or is a part of, what is written.
func (w writtenField) isReadBy(r fieldRead) bool {
	path := r.path
	at := slices.Index(path, anyKey)
	if at >= 0 {
		path = path[:at]
	}
	for i := range min(len(path), len(w.path)) {
		if path[i] != w.path[i] {
			return false
		}
	}
	switch {
	case len(path) > len(w.path), len(path) == len(w.path) && at >= 0:
		return w.as == asValue // of the others it may be another part
	case len(path) == len(w.path):
		return w.as != asList
	default:
		return !r.asks // what holds the field is there without it too
	}
}

// checkReadsItself reports a patch that reads a field which it writes: each write
// would be a reason for the next, or for taking it back.
func (c *compiler) checkReadsItself(spec *syntax.Patch, patch *compiledPatch, u *uses) {
	fields := written(spec.Template, nil)
	reported := map[diagnostic.Position]bool{}
	for _, r := range u.fields {
		if reported[r.pos] || !c.readsTarget(spec, patch, r.root) {
			continue
		}
		for _, f := range fields {
			if f.isReadBy(r) {
				reported[r.pos] = true
				c.report(r.pos, diagnostic.CodePatchReadsItself, "%s reads %s, and writes %s itself", spec.Label(), r.text, strings.Join(f.path, ".")).
					WithHint("compute it from what the patch does not write")
				break
			}
		}
	}
}

// readsTarget says whether what an expression reads is, for all that can be seen,
// the object that the patch is for.
func (c *compiler) readsTarget(spec *syntax.Patch, patch *compiledPatch, root string) bool {
	parent := objectText{name: "${parent.metadata.name}"}
	target := parent
	if spec.Target != nil {
		target = objectTextOf(spec.Target.Name, spec.Target.Namespace)
	}
	group, id, _ := strings.Cut(root, ".")
	switch group {
	case rootParent:
		return patch.GVK.GroupKind() == c.rule.Parent.GVK.GroupKind() && target == parent
	case rootLookups:
		l := c.lookups[id]
		return l != nil && l.spec.Name != nil && l.spec.GVK.GroupKind() == patch.GVK.GroupKind() &&
			objectTextOf(l.spec.Name, l.spec.Namespace) == target
	}
	child := c.children[id]
	if child == nil || child.Template == nil || child.Many() {
		return false
	}
	metadata := child.Template.Get("metadata")
	return syntax.TemplateGVK(child.Template).GroupKind() == patch.GVK.GroupKind() &&
		objectTextOf(metadata.Get("name"), metadata.Get("namespace")) == target
}

// objectText names an object as a rule writes it.
type objectText struct{ name, namespace string }

func objectTextOf(name, namespace *yamltree.Node) objectText {
	var out objectText
	if text, ok := name.Text(); ok {
		out.name = sameText(text)
	}
	if text, ok := namespace.Text(); ok && sameText(text) != "${parent.metadata.namespace}" {
		out.namespace = sameText(text)
	}
	return out
}
