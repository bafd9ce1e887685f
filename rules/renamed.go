package rules

import (
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
)

// observed.<id> is the object that the child has, whatever its name. If the name changes with the spec, it is the object with
// the earlier name until there is a new one: the migration to the last version, which is complete, and not the one to the
// next version. What an expression reads of its status counts as that of the new object.

// stateRead is a read of the status of a child's observed object.
type stateRead struct {
	flow.FieldRead
	id string
	// own is true in the child itself, which cannot read children.<id>.
	own bool
}

// noteStates notes the reads of the status of observed objects in an expression that reads nothing else of them. One that reads
// their metadata or spec as well, also by a variable, can tell which object they are.
func (c *compiler) noteStates(reads, all []flow.FieldRead, sc *compileScope) {
	for _, r := range reads {
		tells := func(other flow.FieldRead) bool { return other.Root == r.Root && other.IsOneOf("metadata", "spec") }
		if slices.ContainsFunc(all, tells) {
			continue
		}
		id := strings.TrimPrefix(r.Root, flow.RootObserved+".")
		c.states = append(c.states, stateRead{FieldRead: r, id: id, own: sc.Place == "children."+id || strings.HasPrefix(sc.Place, "children."+id+".")})
	}
}

// checkFormerStates reports what reads the status of an observed object that may have an earlier name.
func (c *compiler) checkFormerStates() {
	for _, r := range c.states {
		spec := c.children[r.id]
		if spec == nil || spec.Many() || spec.Gaps["forEach"] || spec.Template == nil {
			continue
		}
		metadata := spec.Template.Get("metadata")
		named := slices.Concat(c.readsBelow(metadata.Get("name")), c.readsBelow(metadata.Get("namespace")))
		i := slices.IndexFunc(named, func(n flow.FieldRead) bool { return c.canChange(spec, n) })
		if i < 0 {
			continue
		}
		f := c.Report(r.Pos, diagnostic.CodeFormerState, "%s may belong to an object with an earlier name, because the name of %s changes with %s", r.Text, r.id, named[i].Text)
		switch ask := "compare observed." + r.id + ".metadata.name with the name that is rendered"; {
		case r.own:
			f.WithHint("%s", ask)
		default:
			f.WithHint("read children.%s, which is the object with the new name, or %s", r.id, ask)
		}
		f.WithRelated(named[i].Pos, "the name")
	}
}
