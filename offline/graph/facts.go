package graph

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// This file has the facts beside the edges of a graph: the objects that a rule watches, the fields that it reads, and
// when things happen.

// watch records that the rule watches objects of a kind. notes restrict which.
func (b *builder) watch(kind string, notes []string) {
	text := kind
	if len(notes) > 0 {
		text += ", " + strings.Join(notes, ", ")
	}
	b.graph.Watches = append(b.graph.Watches, text)
}

// parentNotes describe the objects that the rule is for.
func (b *builder) parentNotes() []string {
	parent := b.rule.Parent
	var notes []string
	if parent.Selector != nil && !parent.Selector.Empty() {
		notes = append(notes, "with labels "+parent.Selector.String())
	}
	if len(parent.Namespaces) > 0 {
		notes = append(notes, "in namespace "+strings.Join(parent.Namespaces, " or "))
	}
	if parent.NamespaceSelector != nil {
		notes = append(notes, "in namespaces with labels "+parent.NamespaceSelector.String())
	}
	return append(notes, when(parent.When)...)
}

// timeNotes describe when the parent is requeued, deleted and finalized.
func (b *builder) timeNotes() []string {
	var notes []string
	for _, d := range []struct {
		does     string
		duration *syntax.Duration
	}{{"requeued after", b.rule.RequeueAfter}, {"reconciled at most every", b.rule.MinInterval}} {
		if text := durationText(d.duration); text != "" {
			notes = append(notes, d.does+" "+text)
		}
	}
	for _, note := range when(b.rule.DeleteWhen) {
		notes = append(notes, "deleted "+note)
	}
	if f := b.rule.Finalize; f != nil {
		note := "finalized"
		if until, ok := expressionIn(f.Until); ok {
			note += " until " + until
		}
		if text := durationText(f.Timeout); text != "" {
			note += " within " + text
		}
		notes = append(notes, note)
	}
	return notes
}

// timeParts are the expressions in timeNotes, and parent.when.
func (b *builder) timeParts() []*yamltree.Node {
	parts := []*yamltree.Node{b.rule.Parent.When, b.rule.DeleteWhen}
	for _, d := range []*syntax.Duration{b.rule.RequeueAfter, b.rule.MinInterval} {
		if d != nil {
			parts = append(parts, d.Node)
		}
	}
	if f := b.rule.Finalize; f != nil {
		parts = append(parts, f.Until)
	}
	return parts
}

func durationText(d *syntax.Duration) string {
	switch {
	case d == nil:
		return ""
	case d.Node != nil:
		text, _ := expressionIn(d.Node)
		return text
	}
	text := d.Constant.String() // 1h0m0s
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// whichObjects describes the objects that a lookup or the target of a patch selects.
func whichObjects(l *syntax.Lookup) []string {
	var notes []string
	if name, ok := l.Name.Text(); ok {
		notes = append(notes, "named "+name)
	}
	switch {
	case l.Selector == nil:
	case l.Labels == nil:
		notes = append(notes, "with labels that are computed")
	case l.Labels.Empty():
		notes = append(notes, "all objects")
	default:
		notes = append(notes, "with labels "+l.Labels.String())
	}
	switch namespace, ok := l.Namespace.Text(); {
	case ok && namespace == "*":
		notes = append(notes, "in all namespaces")
	case ok:
		notes = append(notes, "in namespace "+namespace)
	}
	return notes
}

// deletionNotes describe the deletionPolicy of a child, unless it is always Delete.
func deletionNotes(d syntax.Deletion) []string {
	pruned, _ := expressionIn(d.WhenPruned)
	deleted, _ := expressionIn(d.WhenDeleted)
	isDelete := func(word string) bool { return word == "" || word == string(syntax.EndDelete) }
	switch {
	case isDelete(pruned) && isDelete(deleted):
		return nil
	case pruned == deleted:
		return []string{"deletionPolicy " + pruned}
	}
	var notes []string
	if !isDelete(pruned) {
		notes = append(notes, "deletionPolicy "+pruned+" when pruned")
	}
	if !isDelete(deleted) {
		notes = append(notes, "deletionPolicy "+deleted+" when the parent is deleted")
	}
	return notes
}

// note records the reads of an expression that belongs to no node.
func (b *builder) note(part *yamltree.Node) {
	b.reads(part, celenv.Scope{
		flow.RootParent, flow.RootVariables, flow.RootLookups, flow.RootChildren, flow.RootObserved, flow.RootStatus, flow.RootNow, flow.RootFinalizing,
	})
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
