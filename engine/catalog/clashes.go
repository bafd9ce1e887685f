package catalog

import (
	"cmp"
	"maps"
	"slices"

	"kanon.dev/kanon/restmapping/openapi"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

// clashes finds conflicts between running rules: conditions of the same types on the same parents, and children that
// are the same object. The zero value has no rules.
type clashes struct {
	// rules are those that ran at the last update, by id; they are immutable. places has the namespace of each.
	rules  map[string]*syntax.Rule
	places map[string]string
	found  map[string][]rules.Clash
}

// update finds the clashes between the running rules, unless they are the same as before. places has the namespace of
// each rule: only rules of one namespace are compared, so that tenants learn nothing about each other.
func (c *clashes) update(running map[string]*syntax.Rule, places map[string]string) {
	if maps.Equal(running, c.rules) {
		return
	}
	c.rules, c.places, c.found = running, places, make(map[string][]rules.Clash)
	for _, place := range slices.Compact(slices.Sorted(maps.Values(places))) {
		c.updatePlace(place)
	}
}

func (c *clashes) updatePlace(place string) {
	ids := slices.SortedFunc(maps.Keys(c.rules), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.rules[a].Name, c.rules[b].Name), cmp.Compare(a, b))
	})
	ids = slices.DeleteFunc(ids, func(id string) bool { return c.places[id] != place })
	all := make([]*syntax.Rule, len(ids))
	for i, id := range ids {
		all[i] = c.rules[id]
	}
	for i, found := range rules.FindClashes(all) {
		c.found[ids[i]] = found
	}
}

// lines returns the report lines about a rule's clashes. Clashes of conditions count only for kinds that have
// conditions.
func (c *clashes) lines(id string, schemas openapi.Schemas) []string {
	var lines []string
	for _, found := range c.found[id] {
		if found.ConditionsOf.Empty() || mayHaveConditions(schemas.Schema(found.ConditionsOf)) {
			lines = append(lines, found.Finding(c.rules[id]).String())
		}
	}
	return lines
}

// mayHaveConditions reports whether objects of a schema may have status.conditions. A nil schema is unknown.
func mayHaveConditions(s *openapi.Schema) bool {
	if s == nil || s.Type != openapi.Object || s.Open {
		return true
	}
	status := s.Fields["status"]
	return status != nil && (status.Schema.Type != openapi.Object || status.Schema.Open || status.Schema.Fields["conditions"] != nil)
}
