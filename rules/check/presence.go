package check

import (
	"maps"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/celenv/run"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
)

// MissingRead is a read of a field that may be missing.
type MissingRead struct {
	// Finding reports it.
	Finding *diagnostic.Finding
	// Optional is the read as it is written for a field that may be missing.
	Optional string
}

// mayBeMissing warns of a field that is read as if it always existed.
func (c *checker) mayBeMissing(s flow.Step, f *openapi.Field) {
	if !f.Required && !f.Defaulted && !f.Always && !c.alwaysExists(s) {
		c.warnMissing(s, c.Expr.Source(s.Operand)+".?"+s.Name, "its schema neither requires it nor has a default for it")
	}
}

// parentLabels is how expressions read the labels of the parent.
const parentLabels = flow.RootParent + ".metadata.labels"

// labelMayBeMissing warns of a label of the parent that is read as if it always existed, if the
// selector guarantees others. If it guarantees none, the warning is about the labels as a whole.
func (c *checker) labelMayBeMissing(s flow.Step) {
	if c.Expr.Source(s.Operand) != parentLabels || !c.Parent.Labelled() || c.Parent.Guarantees(s.Name) {
		return
	}
	optional := parentLabels + ".?" + s.Name
	if s.Index != nil {
		optional = parentLabels + "[?" + strconv.Quote(s.Name) + "]"
	}
	c.warnMissing(s, optional, "spec.parent.selector does not ask for this label")
}

// warnMissing warns of a read, once, unless something asks whether there is a value. optional is
// the read as it is written if there may be none.
func (c *checker) warnMissing(s flow.Step, optional, reason string) {
	path, id := c.Expr.Source(s.Expr), s.Expr.ID()
	if !c.Fails(id) || c.asked[path] || c.warned[path] || c.isDefaulted(path) {
		return
	}
	c.warned[path] = true
	finding := c.Report(id, s.Name, diagnostic.CodeOptionalField, "%s may be missing: %s", path, reason)
	c.out.missing[id] = MissingRead{Finding: finding, Optional: optional}
	ask := "has(" + path + ")"
	if s.Index != nil {
		ask = strconv.Quote(s.Name) + " in " + c.Expr.Source(s.Operand)
	}
	finding.WithHint("write %s, with orValue(…) where there must be a value, ask %s first, or give the child that when", optional, ask)
}

// alwaysExists reports whether the API server sees to a field of every object, of which schemas
// say nothing.
func (c *checker) alwaysExists(s flow.Step) bool {
	switch name := s.Name; c.Expr.Source(s.Operand) {
	case flow.RootParent:
		// An object without a spec is a rare one, and not what reading a field of it is about.
		return name == "apiVersion" || name == "kind" || name == "metadata" || name == "spec"
	case flow.RootParent + ".metadata":
		switch name {
		case "name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation":
			return true
		case "labels":
			return c.Parent.Labelled()
		}
	}
	return false
}

// collectAsked notes the paths that exist if the node is true: that of has(path), that of "key"
// in path, that of path.hasValue(), and those of a variable that asks. A comparison with null is no such question: if the
// path is missing, there is nothing to compare.
func (c *checker) collectAsked(e ast.Expr, asked map[string]bool) {
	switch e.Kind() {
	case ast.CallKind:
		if call := e.AsCall(); call.FunctionName() == "hasValue" && call.IsMemberFunction() {
			c.noteExists(call.Target(), asked)
			return
		}
		if e.AsCall().FunctionName() != operators.In {
			return
		}
		key, of := e.AsCall().Args()[0], c.Expr.Source(e.AsCall().Args()[1])
		if name, ok := flow.LiteralText(key); ok {
			asked[of+"."+name] = true
			asked[of+"["+c.Expr.Source(key)+"]"] = true
		}
	case ast.SelectKind:
		if sel := e.AsSelect(); sel.IsTestOnly() {
			asked[c.Expr.Source(sel.Operand())+"."+sel.FieldName()] = true
		} else if name := flow.WholeVariable(e); name != "" {
			maps.Copy(asked, c.Names.Holds(name))
		}
	case ast.IdentKind:
		if e.AsIdent() == flow.RootFinalizing {
			asked[flow.DeletionTime] = true
		}
	default:
	}
}

// collectDefaulted notes the path of size(path.?x.orValue([])) > 0 and the like, which is false
// with the default: if it is true, the path exists.
func (c *checker) collectDefaulted(e ast.Expr, asked map[string]bool) {
	if c.Expr.TypeOf(e.ID()).Kind() != types.BoolKind {
		return
	}
	var found ast.Expr
	for n := range celenv.All(e) {
		switch {
		case n.Kind() != ast.CallKind || n.AsCall().FunctionName() != "orValue" || !n.AsCall().IsMemberFunction():
		case found != nil && c.Expr.Source(n) != c.Expr.Source(found):
			return // it may be the other one's
		default:
			found = n
		}
	}
	if found == nil {
		return
	}
	call := found.AsCall()
	if c.path(call.Target()) == "" {
		return
	}
	if val, ok := run.Constant(c.Expr, c.Expr.Replaced(e, found, call.Args()[0])); ok && val == types.False {
		c.noteExists(call.Target(), asked)
	}
}

// noteExists notes that a path and all on the way to it exist, as they are read without asking: parent.a, parent.a["b"] and
// parent.a.b for parent.?a[?"b"].
func (c *checker) noteExists(e ast.Expr, asked map[string]bool) {
	plain := strings.NewReplacer(".?", ".", "[?", "[")
	for _, s := range flow.PathOf(e).Steps {
		of := plain.Replace(c.Expr.Source(s.Operand))
		if s.Index != nil {
			asked[of+"["+c.Expr.Source(s.Index)+"]"] = true
		}
		if s.Literal {
			asked[of+"."+s.Name] = true
		}
	}
}

// isDefaulted reports whether a condition in the expression asks for a path by way of a default.
func (c *checker) isDefaulted(path string) bool {
	if c.defaulted == nil {
		c.defaulted = map[string]bool{}
		for _, e := range c.Expr.Nodes() {
			if e.Kind() == ast.CallKind {
				c.collectDefaulted(e, c.defaulted)
			}
		}
	}
	return c.defaulted[path]
}
