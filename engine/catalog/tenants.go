package catalog

import (
	"cmp"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

// Rules in Kanon's own namespace and in files act wherever Kanon has rights. Rules in any other namespace belong to a
// tenant and are confined to that namespace. A rule's namespace decides which of the two it is, so no text may name a
// namespace but its own.

// place is where the rules of a text belong.
type place struct {
	Namespace string
	// Confined is true if the rules must not reach beyond Namespace.
	Confined bool
}

func (c *Catalog) placeOf(t *text) place {
	own := c.compiling.Namespace
	namespace := cmp.Or(t.origin.Namespace(), own)
	return place{Namespace: namespace, Confined: namespace != own}
}

// nameOf returns the name of a rule in a text. A tenant's rule is always in the tenant's namespace; if its text names
// another one, the compiler reports that.
func (c *Catalog) nameOf(t *text, rule *syntax.Rule) types.NamespacedName {
	in := c.placeOf(t)
	if in.Confined {
		return types.NamespacedName{Namespace: in.Namespace, Name: rule.Name}
	}
	return types.NamespacedName{Namespace: cmp.Or(rule.Namespace, in.Namespace), Name: rule.Name}
}

// optionsFor returns the options for compiling a rule.
func (c *Catalog) optionsFor(r *revisions) rules.Options {
	options := c.compiling
	if t := c.texts[r.text]; t != nil {
		in := c.placeOf(t)
		options.Namespace, options.Confined = in.Namespace, in.Confined
	} else { // its text is gone
		options.Namespace, options.Confined = r.name.Namespace, r.name.Namespace != options.Namespace
	}
	return options
}

// errTenantDefinition says why a definition in a tenant's text is not applied.
var errTenantDefinition = errors.New("a CustomResourceDefinition is cluster-wide, and is applied from Kanon's own namespace and from files only")

// maxTenantRules is how many rules a tenant may have in a namespace: each costs memory, an informer or two, and a
// turn in the queue. Rules that are being removed cost the same, so they count until nothing is left of them.
const maxTenantRules = 100

// admit removes the claims of rules that exceed maxTenantRules. Rules with a record count first: they run, ran, or
// are being removed. Next come rules that were admitted before, so that they do not make room for an older text that
// appeared later; then the others by the age of their texts.
func (c *Catalog) admit(claims map[types.NamespacedName][]claim, recorded map[string]types.NamespacedName) {
	c.refused = make(sets.Set[string])
	count := make(map[string]int)
	for _, name := range recorded {
		count[name.Namespace]++
	}
	var asking []types.NamespacedName
	for name := range claims {
		if _, ok := recorded[c.idOf(name)]; !ok && name.Namespace != c.compiling.Namespace {
			asking = append(asking, name)
		}
	}
	slices.SortFunc(asking, func(a, b types.NamespacedName) int {
		return cmp.Or(isNil(c.byName[a])-isNil(c.byName[b]), c.byAge(claims[a][0].text, claims[b][0].text), cmp.Compare(a.Name, b.Name))
	})
	for _, name := range asking {
		if count[name.Namespace]++; count[name.Namespace] <= maxTenantRules {
			continue
		}
		for _, of := range claims[name] {
			t := c.texts[of.text]
			t.conflicts = append(t.conflicts, of.rule.TooMany(name.Namespace, maxTenantRules))
		}
		c.refused.Insert(c.idOf(name))
		delete(claims, name)
	}
}

// isNil is 1 for nil, so that rules without revisions sort last.
func isNil(r *revisions) int {
	if r == nil {
		return 1
	}
	return 0
}

// idOf returns the id of the rule with this name.
func (c *Catalog) idOf(name types.NamespacedName) string {
	return c.ruleID(c.compiling.Namespace, name.Namespace, name.Name)
}
