package ruletest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/program"
)

// Coverage records which parts of rules the cases have exercised. The zero value is ready to use.
type Coverage struct {
	rules []*ruleCoverage
	// branches are the outcomes of conditions, and of ?: in expressions.
	branches []*branch
}

// branch is one outcome of a condition.
type branch struct {
	at    diagnostic.Position
	gap   string
	taken bool
}

// side finds or adds a branch. Several files may compile the same rule.
func (c *Coverage) side(at diagnostic.Position, gap string) *branch {
	for _, known := range c.branches {
		if known.at == at && known.gap == gap {
			return known
		}
	}
	added := &branch{at: at, gap: gap}
	c.branches = append(c.branches, added)
	return added
}

// ofBranch is rules.Options.Branches: the coverage of one ?:.
func (c *Coverage) ofBranch(condition string, yes, no diagnostic.Position) func(holds bool) {
	return either(c.side(yes, condition+" is true in no case"), c.side(no, condition+" is false in no case"))
}

// ofCondition is rules.Options.Conditions: the coverage of one condition. For the when of a child or a patch, only
// false is recorded here; add records whether anything is rendered.
func (c *Coverage) ofCondition(place string, at diagnostic.Position) func(holds bool) {
	isNode := strings.HasSuffix(place, ".when") && (strings.HasPrefix(place, "children.") || strings.HasPrefix(place, "patches."))
	ifFalse := c.side(at, place+" is false in no case")
	if isNode {
		return either(&branch{}, ifFalse)
	}
	return either(c.side(at, place+" is true in no case"), ifFalse)
}

func either(ifTrue, ifFalse *branch) func(holds bool) {
	return func(holds bool) {
		ifTrue.taken = ifTrue.taken || holds
		ifFalse.taken = ifFalse.taken || !holds
	}
}

// Gap is a part of a rule that no case has exercised.
type Gap struct {
	At      diagnostic.Position
	Message string
}

type ruleCoverage struct {
	program         *program.Program
	applied, listed map[string]bool
}

// of is the coverage of one rule. Several files may test it.
func (c *Coverage) of(program *program.Program) *ruleCoverage {
	if c == nil {
		return nil
	}
	for _, known := range c.rules {
		if known.program.Name == program.Name && known.program.Hash == program.Hash {
			return known
		}
	}
	added := &ruleCoverage{program: program, applied: map[string]bool{}, listed: map[string]bool{}}
	c.rules = append(c.rules, added)
	return added
}

// add records the nodes and patches that a step has exercised.
func (c *ruleCoverage) add(state *state) {
	if c == nil || state.Preview == nil || state.Preview.Unmatched != "" {
		return
	}
	note := func(id string, s program.State, hasItems bool) {
		if s == program.StateApplied {
			c.applied[id] = true
			c.listed[id] = c.listed[id] || hasItems
		}
	}
	for _, node := range state.Preview.Nodes {
		note(node.ID, node.State, len(node.Objects)+len(node.Kept) > 0)
	}
	for _, patch := range state.Preview.Result.Patches {
		note("patch "+patch.ID, patch.State, len(patch.Contributions) > 0)
	}
}

// Gaps lists the parts that no case has exercised, by position. taken and all count the exercised parts and all parts.
func (c *Coverage) Gaps() (gaps []Gap, taken, all int) {
	check := func(at diagnostic.Position, ok bool, format string, args ...any) {
		all++
		if ok {
			taken++
			return
		}
		gaps = append(gaps, Gap{at, fmt.Sprintf(format, args...)})
	}
	for _, b := range c.branches {
		check(b.at, b.taken, "%s", b.gap)
	}
	for _, rule := range c.rules {
		for _, child := range rule.program.Children {
			check(child.Position, rule.applied[child.ID], "child %s: no case renders it", child.ID)
			if child.IsList && rule.applied[child.ID] {
				check(child.Position, rule.listed[child.ID], "child %s: it has items in no case", child.ID)
			}
		}
		for _, patch := range rule.program.Patches {
			check(patch.Position, rule.applied["patch "+patch.ID], "patch %s: no case applies it", patch.ID)
		}
	}
	slices.SortFunc(gaps, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(a.At.File, b.At.File), cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.Message, b.Message))
	})
	return gaps, taken, all
}
