package livediff

import (
	"strings"

	"kanon.dev/kanon/author/preview"
	"kanon.dev/kanon/rules/program"
)

// Problem is a part of a rule that waits or fails for a parent.
type Problem struct {
	// Part is the subject, such as "child web"; empty if Message names it.
	Part string
	// Fails is true if somebody has to change something, and false if the part waits.
	Fails   bool
	Message string
}

func (p Problem) String() string {
	verb := "waits: "
	if p.Fails {
		verb = "fails: "
	}
	return strings.TrimSpace(p.Part+" "+verb) + " " + p.Message
}

// problemsOf returns what waits or fails in a preview. Values of Secrets are hidden.
func problemsOf(p *preview.Preview) []Problem {
	var all []Problem
	add := func(part string, fails bool, message string) {
		all = append(all, Problem{Part: part, Fails: fails, Message: p.Secrets.Text(message)})
	}
	if p.Unmatched != "" && p.Failed() {
		add("the rule", true, p.Unmatched)
	}
	for _, node := range p.Nodes {
		addState(add, "child "+node.ID, node.State, node.Problem)
	}
	for _, patch := range p.Result.Patches {
		addState(add, "patch "+patch.ID, patch.State, patch.Problem)
	}
	for _, waiting := range p.Result.StatusWaiting {
		add("", false, waiting)
	}
	for _, failed := range p.Result.StatusFailed {
		add("", true, failed.Error())
	}
	return all
}

// addState adds a child or a patch if it waits or failed.
func addState(add func(part string, fails bool, message string), part string, state program.State, problem program.Problem) {
	if state == program.StateWaiting || state == program.StateFailed {
		add(part, state == program.StateFailed, problem.Error())
	}
}

// Failures lists what keeps the rule from doing everything for the parent: parts that fail, and refused objects.
func (c *Changes) Failures() []string {
	var all []string
	for _, problem := range c.Problems {
		if problem.Fails {
			all = append(all, c.who()+": "+problem.String())
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
