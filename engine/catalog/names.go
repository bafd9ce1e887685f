package catalog

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/rules/syntax"
)

// claim is a text that defines a rule.
type claim struct {
	text string
	rule *syntax.Rule
}

// claims lists, by the name of a rule, the texts that define it: files first, then the
// others by age, so that after a restart the name still belongs to the oldest, and then by
// the names of the texts.
func (c *Catalog) claims() map[types.NamespacedName][]claim {
	claims, ofTenant := make(map[types.NamespacedName][]claim), make(map[string]int)
	texts := slices.SortedFunc(maps.Keys(c.texts), func(a, b string) int {
		return cmp.Or(c.texts[a].created.Compare(c.texts[b].created), cmp.Compare(a, b))
	})
	for _, text := range texts {
		for _, rule := range c.texts[text].docs.Rules {
			name := c.nameOf(c.texts[text], rule)
			if c.placeOf(c.texts[text]).Confined {
				if ofTenant[name.Namespace]++; ofTenant[name.Namespace] > maxTenantRules && c.byName[name] == nil {
					c.refuse(text, rule, name)
					continue
				}
			}
			claims[name] = append(claims[name], claim{text: text, rule: rule})
		}
	}
	return claims
}

// assign gives a name to the text that had it before if that still claims it, and else to
// the first one. The others get a finding.
func (c *Catalog) assign(name types.NamespacedName, claims []claim) *revisions {
	r := c.byName[name]
	if r == nil {
		r = &revisions{id: c.ruleID(c.compiling.Namespace, name.Namespace, name.Name), name: name}
		c.byName[name] = r
	}
	c.removed.Delete(r.id)
	owner := max(0, slices.IndexFunc(claims, func(cl claim) bool { return cl.text == r.text }))
	for i, other := range claims {
		if i != owner {
			t := c.texts[other.text]
			t.conflicts = append(t.conflicts, other.rule.Taken(name.String(), claims[owner].rule.Position))
		}
	}
	r.text = claims[owner].text
	if r.newest != claims[owner].rule {
		r.newest, r.due = claims[owner].rule, true
	}
	return r
}
