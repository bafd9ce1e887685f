package flow

import (
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/ast"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/yamltree"
)

// FieldRead is a field of an object that an expression reads.
type FieldRead struct {
	// Root is the object: parent, children.<id>, lookups.<id>, observed.<id>, or the name of an item.
	Root string
	path []string
	// asks is true if the expression only tests whether the field exists.
	asks bool
	Text string
	Pos  diagnostic.Position
}

func (r FieldRead) key() string {
	return strings.Join(append([]string{r.Root, strconv.FormatBool(r.asks)}, r.path...), "\x00")
}

// FieldReads lists the fields that an expression reads of objects. isItem reports whether a name is a forEach item, and
// at gives the position of a node.
func FieldReads(x *celenv.Expression, isItem func(name string) bool, at func(id int64) diagnostic.Position) []FieldRead {
	inner := map[int64]bool{}
	nodes := x.Nodes()
	for _, e := range nodes {
		if step, ok := StepOf(e); ok {
			inner[step.Operand.ID()] = true
		}
	}
	var reads []FieldRead
	for _, e := range nodes {
		if inner[e.ID()] {
			continue // a part of a longer path
		}
		p := PathOf(e)
		root := p.RootName()
		if root != RootParent && root != RootNow && (!IsGroup(root) || root == RootVariables) && !isItem(root) {
			continue
		}
		names := p.Names()
		read := FieldRead{Root: root, path: names[1:], Text: x.Source(e), Pos: at(e.ID())}
		if IsGroup(root) {
			if len(names) < 2 {
				continue
			}
			read.Root, read.path = root+"."+names[1], names[2:]
		}
		read.asks = len(p.Steps) > 0 && p.Steps[len(p.Steps)-1].Asks
		reads = append(reads, read)
	}
	return reads
}

// StateReads lists the reads of the status of observed objects, including ready() and kstatus(). Each has the position
// of its beginning.
func StateReads(x *celenv.Expression, at func(id int64) diagnostic.Position) []FieldRead {
	var reads []FieldRead
	for _, e := range x.Nodes() {
		judged := e.Kind() == ast.CallKind && (e.AsCall().FunctionName() == "ready" || e.AsCall().FunctionName() == "kstatus") && len(e.AsCall().Args()) == 1
		if judged {
			e = e.AsCall().Args()[0]
		}
		p := PathOf(e)
		names := p.Names()
		if p.RootName() == RootObserved && (judged && len(names) == 2 || len(names) == 3 && names[2] == "status") {
			reads = append(reads, FieldRead{Root: RootObserved + "." + names[1], path: names[2:], Text: x.Source(e), Pos: at(p.root.ID())})
		}
	}
	return reads
}

// Field is the first field that is read; empty for the object as a whole.
func (r FieldRead) Field() string {
	if len(r.path) == 0 {
		return ""
	}
	return r.path[0]
}

// IsPartOf reports whether r reads what other reads, or a part of it.
func (r FieldRead) IsPartOf(other FieldRead) bool {
	return r.Root == other.Root && len(other.path) <= len(r.path) && slices.Equal(other.path, r.path[:len(other.path)])
}

// IsBelow reports whether r reads a field for which is is true, or a part of one.
func (r FieldRead) IsBelow(is func(path []string) bool) bool {
	for n := range r.path {
		if is(r.path[:n+1]) {
			return true
		}
	}
	return false
}

// IsOneOf reports whether r reads one of the fields, or a part of one.
func (r FieldRead) IsOneOf(fields ...string) bool {
	return slices.ContainsFunc(fields, func(field string) bool {
		path := strings.Split(field, ".")
		return len(path) <= len(r.path) && slices.Equal(path, r.path[:len(path)])
	})
}

// writtenField is a field that a template sets.
type writtenField struct {
	Path []string
	as   writtenAs
}

// writtenAs is how a template sets a field.
type writtenAs uint8

const (
	// asValue sets the field as a whole.
	asValue writtenAs = iota
	// asComputed sets it, or some of its keys, with an expression.
	asComputed
	// asList sets items of a list, which may have items of others.
	asList
)

// Written lists the fields that a template sets. path is the path of n.
func Written(n *yamltree.Node, path []string) []writtenField {
	switch n.Kind {
	case yamltree.Sequence:
		return []writtenField{{Path: path, as: asList}}
	case yamltree.Scalar:
		if _, whole := yamltree.WholeOf(n); whole {
			return []writtenField{{Path: path, as: asComputed}}
		}
		return []writtenField{{Path: path}}
	}
	var out []writtenField
	for _, f := range n.Fields {
		if yamltree.HasExpression(f.Name) {
			out = append(out, writtenField{Path: path, as: asComputed})
			continue
		}
		out = append(out, Written(f.Value, append(slices.Clip(path), f.Name))...)
	}
	return out
}

// IsReadBy reports whether a read contains the written field, or is a part of it.
func (w writtenField) IsReadBy(r FieldRead) bool {
	path := r.path
	at := slices.Index(path, anyKey)
	if at >= 0 {
		path = path[:at]
	}
	for i := range min(len(path), len(w.Path)) {
		if path[i] != w.Path[i] {
			return false
		}
	}
	switch {
	case len(path) > len(w.Path), len(path) == len(w.Path) && at >= 0:
		return w.as == asValue // of the others it may be another part
	case len(path) == len(w.Path):
		return w.as != asList
	default:
		return !r.asks // what contains the field exists without it too
	}
}

// ObjectText is the name and namespace of an object as written in the rule. Equal texts give the same object for one
// parent.
type ObjectText struct{ Name, namespace string }

// ObjectTextOf is the ObjectText of two fields. The parent's namespace is empty.
func ObjectTextOf(name, namespace *yamltree.Node) ObjectText {
	var out ObjectText
	if text, ok := name.Text(); ok {
		out.Name = SameText(text)
	}
	if text, ok := namespace.Text(); ok && SameText(text) != "${parent.metadata.namespace}" {
		out.namespace = SameText(text)
	}
	return out
}

// SameText is a text without blanks at the ends of its expressions.
func SameText(s string) string {
	parts, err := yamltree.Scan(s)
	if err != nil {
		return s
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Expr {
			b.WriteString("${" + strings.TrimSpace(p.Text) + "}")
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}
