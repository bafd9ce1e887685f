package livediff

import (
	"strings"

	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/rules/program"
)

// problem is a part of a rule that waits or fails for a parent.
type problem struct {
	text string
	// fails is true if somebody has to change something, and false if the part waits.
	fails bool
}

// problemsOf returns what waits or fails in a preview. Values of Secrets are hidden.
func problemsOf(p *preview.Preview) []problem {
	var all []problem
	add := func(part string, fails bool, message string) {
		verb := "waits: "
		if fails {
			verb = "fails: "
		}
		all = append(all, problem{strings.TrimSpace(part+" "+verb) + " " + p.Secrets.Text(message), fails})
	}
	of := func(part string, state program.State, found program.Problem) {
		if state == program.StateWaiting || state == program.StateFailed {
			add(part, state == program.StateFailed, found.Error())
		}
	}
	if p.Unmatched != "" && p.Failed() {
		add("the rule", true, p.Unmatched)
	}
	for _, node := range p.Nodes {
		of("child "+node.ID, node.State, node.Problem)
	}
	for _, patch := range p.Result.Patches {
		of("patch "+patch.ID, patch.State, patch.Problem)
	}
	for _, waiting := range p.Result.StatusWaiting {
		add("", false, waiting)
	}
	for _, failed := range p.Result.StatusFailed {
		add("", true, failed.Error())
	}
	return all
}

// Failures lists what keeps the rule from doing everything for the parent: parts that fail, and refused objects.
func (c *Changes) Failures() []string {
	var all []string
	for _, problem := range c.problems {
		if problem.fails {
			all = append(all, c.who()+": "+problem.text)
		}
	}
	for _, change := range c.All {
		if change.Action == Refused && !change.passes {
			all = append(all, c.who()+": "+change.Title())
		}
	}
	return all
}

// Concerns reports whether the rule has to do with the parent: it selects the parent, or there is something to undo.
func (c *Changes) Concerns() bool {
	return !c.unselected || len(c.All) > 0 || len(c.losses) > 0
}
