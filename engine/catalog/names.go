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
	claims := make(map[types.NamespacedName][]claim)
	for _, text := range slices.SortedFunc(maps.Keys(c.texts), c.byAge) {
		for _, rule := range c.texts[text].docs.Rules {
			name := c.nameOf(c.texts[text], rule)
			claims[name] = append(claims[name], claim{text: text, rule: rule})
		}
	}
	return claims
}

// byAge compares the names of texts: the oldest comes first.
func (c *Catalog) byAge(a, b string) int {
	return cmp.Or(c.texts[a].created.Compare(c.texts[b].created), cmp.Compare(a, b))
}

// assign gives a name to the text that had it before if that still claims it, and else to
// the first one. The others get a finding.
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
