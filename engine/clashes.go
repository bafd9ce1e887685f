package engine

import (
	"cmp"
	"maps"
	"slices"

	"kanon.dev/kanon/openapi"
	"kanon.dev/kanon/rules"
)

// clashes are what rules that run do to one another's objects, for the verdicts on them. The zero
// value is of no rules.
type clashes struct {
	// rules are those that ran when it was asked last, by id: what they say never changes.
	rules map[string]*rules.Rule
	found map[string][]rules.Clash
}

// update takes in which rules run.
func (c *clashes) update(of *catalog) {
	running := make(map[string]*rules.Rule)
	for _, e := range of.entries {
		if of.runnable(e) != nil {
			running[e.id] = e.good
		}
	}
	if maps.Equal(running, c.rules) {
		return
	}
	c.rules, c.found = running, make(map[string][]rules.Clash)
	ids := slices.SortedFunc(maps.Keys(running), func(a, b string) int {
		return cmp.Or(cmp.Compare(running[a].Name, running[b].Name), cmp.Compare(a, b))
	})
	all := make([]*rules.Rule, len(ids))
	for i, id := range ids {
		all[i] = running[id]
	}
	for i, found := range rules.Clashes(all) {
		c.found[ids[i]] = found
	}
}

// linesOf are the lines about a rule's clashes for the verdict on it. On kinds without conditions
// there is none about conditions.
func (c *clashes) linesOf(id string, schemas rules.Schemas) []string {
	var lines []string
	for _, clash := range c.found[id] {
		if clash.ConditionsOf.Empty() || takesConditions(schemas.Schema(clash.ConditionsOf)) {
			lines = append(lines, c.rules[id].Clashing(clash).String())
		}
	}
	return lines
}

// takesConditions tells whether objects with a schema may have conditions; nil is one that is not known.
func takesConditions(s *openapi.Schema) bool {
	if s == nil || s.Type != openapi.Object || s.Open {
		return true
	}
	status := s.Fields["status"]
	return status != nil && (status.Schema.Type != openapi.Object || status.Schema.Open || status.Schema.Fields["conditions"] != nil)
}
