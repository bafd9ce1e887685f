package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/conditions"
)

// settle sets the state and the notes of a parent's node. They come from Kanon's conditions. If there are none, or they
// are about an earlier generation, they come from the branches of its rules. suspended is true if all of the rules are
// suspended.
func (n *Node) settle(parent *unstructured.Unstructured, rules []Rule, branches []*branch) {
	terminating := n.terminating(parent)
	computed, suspended := Ready, len(rules) > 0
	for i, b := range branches {
		suspended = suspended && rules[i].Suspended
		for _, note := range b.notes {
			if len(rules) > 1 && note.Path != "rule "+rules[i].Name {
				note.Path = "rule " + rules[i].Name + ": " + note.Path
			}
			n.Notes = append(n.Notes, note)
		}
		computed = worse(computed, b.state())
	}
	reported, notes := reportedState(parent, rules)
	switch {
	case terminating:
	case reported == "" && !slices.ContainsFunc(rules, func(r Rule) bool { return r.Program != nil }):
		n.judge(parent, false) // without a program, what the rules make of it is not known
		n.State = worse(n.State, computed)
	case reported == "":
		n.State = computed
	case reported == Ready && !computed.IsGood():
		n.State = computed
		if notes = append(notes, summary(branches)...); !suspended {
			notes = append(notes, Note{Source: FromCondition, Text: "Kanon has reported that it is ready, and has not reconciled it since"})
		}
	case reported.IsGood():
		n.State = reported
	default:
		n.State = worse(reported, computed)
	}
	if len(notes) == 0 && !n.State.IsGood() {
		notes = summary(branches)
	}
	n.Notes = slices.Concat(notes, n.Notes)
}

// summary lists the children that are not in a good state.
func summary(branches []*branch) []Note {
	by := map[State][]string{}
	for _, b := range branches {
		for _, child := range b.nodes {
			if child.Role == Child && worse(Ready, child.State) != Ready && !slices.Contains(by[child.State], child.ID) {
				by[child.State] = append(by[child.State], child.ID)
			}
		}
	}
	var parts []string
	for _, state := range []State{Failed, Refused, Waiting, Missing, NotReady} {
		if len(by[state]) > 0 {
			parts = append(parts, string(state)+": "+strings.Join(by[state], ", "))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []Note{{Source: FromRule, Text: strings.Join(parts, "; ")}}
}

// state is the worst state of a branch's nodes.
func (b *branch) state() State {
	state := Ready
	switch {
	case b.fails:
		state = Failed
	case b.waits:
		state = NotReady
	}
	for _, n := range b.nodes {
		if n.Role == Child || n.State == Failed {
			state = worse(state, n.State)
		}
	}
	return state
}

// worse combines two states into that of a parent: Ready, NotReady or Failed.
func worse(a, b State) State {
	rank := func(s State) int {
		switch {
		case s.IsBad():
			return 2
		case s.IsGood() || s == Obsolete || s == Terminating || s == Unknown:
			return 0
		default:
			return 1
		}
	}
	return []State{Ready, NotReady, Failed}[max(rank(a), rank(b))]
}

// reportedState is the state of a parent by Kanon's conditions; empty if there are none, or if they are about an
// earlier generation. If the parent is not ready, the notes quote Ready and the conditions that the rules declare.
func reportedState(parent *unstructured.Unstructured, rules []Rule) (state State, notes []Note) {
	for _, rule := range rules {
		if rule.Program == nil {
			continue
		}
		prefix := rule.Program.ConditionPrefix
		ready := conditions.Find(parent, prefix+conditions.Ready)
		if ready == nil {
			continue
		}
		seen, _ := ready["observedGeneration"].(int64)
		if seen != 0 && seen < parent.GetGeneration() {
			notes = append(notes, Note{
				Source: FromCondition, Path: prefix + conditions.Ready,
				Text: fmt.Sprintf("is about generation %d: Kanon has not reconciled generation %d yet", seen, parent.GetGeneration()),
			})
			continue
		}
		if ready["status"] == "True" {
			state = cmp.Or(state, Ready)
			continue
		}
		state = NotReady
		if stalled := conditions.Find(parent, prefix+conditions.Stalled); stalled != nil && stalled["status"] == "True" {
			state = Failed
		}
		for _, name := range append([]string{prefix + conditions.Ready}, rule.Program.ConditionTypes()...) {
			if condition := conditions.Find(parent, name); condition != nil {
				notes = append(notes, noteOf(condition))
			}
		}
	}
	return state, notes
}

// noteOf quotes a condition.
func noteOf(condition map[string]any) Note {
	text := func(field string) string { value, _ := condition[field].(string); return value }
	note := Note{Source: FromCondition, Path: text("type") + "=" + text("status"), Text: text("reason")}
	if message := text("message"); message != "" {
		note.Text += ": " + message
	}
	note.Since, _ = time.Parse(time.RFC3339, text("lastTransitionTime"))
	return note
}
