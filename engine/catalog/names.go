package catalog

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/rules/syntax"
)

// claim is a rule as one text defines it.
type claim struct {
	text string
	rule *syntax.Rule
}

// claims returns, by rule name, the texts that define the rule: files first, then by age, then by name. So after a
// restart the name still belongs to the oldest text.
func (c *Catalog) claims() map[types.NamespacedName][]claim {
	claims := make(map[types.NamespacedName][]claim)
	for _, text := range slices.SortedFunc(maps.Keys(c.texts), c.byAge) {
		for _, rule := range c.texts[text].docs.Rules {
			name := c.nameOf(c.texts[text], rule)
			claims[name] = append(claims[name], claim{text: text, rule: rule})
		}
	}
	return claims
}

// byAge compares the names of texts, oldest text first.
func (c *Catalog) byAge(a, b string) int {
	return cmp.Or(c.texts[a].created.Compare(c.texts[b].created), cmp.Compare(a, b))
}

// assign gives a name to the text that had it before, if that still claims it, else to the first claim. The other
// claims get a finding.
func (c *Catalog) assign(name types.NamespacedName, claims []claim) *revisions {
	r := c.byName[name]
	if r == nil {
		r = &revisions{id: c.idOf(name), name: name}
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
