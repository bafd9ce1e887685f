package immutable

import (
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
)

// observed.<id> is the object that the child has, whatever its name. If the name changes, for example with a version in
// the spec, it is the object with the earlier name until the new one exists. An expression then takes the status of the
// earlier object, such as a completed migration to the last version, for that of the new one.

// stateRead is a read of the status of a child's observed object.
type stateRead struct {
	flow.FieldRead
	id string
	// own is true in the child itself, which cannot read children.<id>.
	own bool
}

// NoteStates records the reads of the status of observed objects in an expression. It skips objects whose metadata or
// spec the expression reads as well, even by a variable: it can check which object it is.
func (r *Reads) NoteStates(reads, all []flow.FieldRead, place string) {
	for _, read := range reads {
		tells := func(other flow.FieldRead) bool { return other.Root == read.Root && other.IsOneOf("metadata", "spec") }
		if slices.ContainsFunc(all, tells) {
			continue
		}
		id := strings.TrimPrefix(read.Root, flow.RootObserved+".")
		r.states = append(r.states, stateRead{FieldRead: read, id: id, own: place == "children."+id || strings.HasPrefix(place, "children."+id+".")})
	}
}

// CheckRenamed reports reads of the status of an observed object that may have an earlier name.
func (r *Reads) CheckRenamed() {
	for _, read := range r.states {
		spec := r.Children[read.id]
		if spec == nil || spec.Many() || spec.Gaps["forEach"] || spec.Template == nil {
			continue
		}
		metadata := spec.Template.Get("metadata")
		named := slices.Concat(r.below(metadata.Get("name")), r.below(metadata.Get("namespace")))
		i := slices.IndexFunc(named, func(n flow.FieldRead) bool { return r.canChange(spec, n) })
		if i < 0 {
			continue
		}
		f := r.Report(read.Pos, diagnostic.CodeFormerState, "%s may belong to an object with an earlier name, because the name of %s changes with %s", read.Text, read.id, named[i].Text)
		hint := "compare observed." + read.id + ".metadata.name with the name that is rendered"
		if !read.own {
			hint = "read children." + read.id + ", which is the object with the new name, or " + hint
		}
		f.WithRelated(named[i].Pos, "the name").Hint = hint
	}
}
