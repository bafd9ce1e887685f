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

// Rules in Kanon's own namespace, and in files, act wherever Kanon has rights. What is in another namespace is a tenant's: it is
// confined to that namespace. A rule's namespace tells which of the two it is, so no text may name another one than its own.

// place says where the rules of a text belong.
type place struct {
	Namespace string
	// Confined is true if they must not reach beyond Namespace.
	Confined bool
}

func (c *Catalog) placeOf(t *text) place {
	own := c.compiling.Namespace
	namespace := cmp.Or(t.origin.Namespace(), own)
	return place{Namespace: namespace, Confined: namespace != own}
}

// nameOf is the name of a rule in a text. That of a tenant is in the tenant's namespace, whatever it says; the compiler reports it.
func (c *Catalog) nameOf(t *text, rule *syntax.Rule) types.NamespacedName {
	in := c.placeOf(t)
	if in.Confined {
		return types.NamespacedName{Namespace: in.Namespace, Name: rule.Name}
	}
	return types.NamespacedName{Namespace: cmp.Or(rule.Namespace, in.Namespace), Name: rule.Name}
}

// optionsFor are those that a rule is compiled with.
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

// errTenantDefinition is why a definition in a tenant's text is not applied.
var errTenantDefinition = errors.New("a CustomResourceDefinition is cluster-wide, and is applied from Kanon's own namespace and from files only")

// confine takes out of a tenant's text what is cluster-wide.
func (t *text) confine() {
	if len(t.definitions) > 0 {
		t.definitions, t.err = nil, errTenantDefinition
	}
}

// maxTenantRules is how many rules a tenant may have in a namespace: each takes memory, an informer or two, and a turn. Those that are
// being removed take the same, so they count until nothing is left of them.
const maxTenantRules = 100

// admit takes the rules out of the claims that tenants have too many. Whoever has a record counts first: it runs, ran, or is being
// removed. Then come the rules that were admitted before, so that none makes room for a text that is older and came later; then the
// others by the age of their texts.
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

// isNil is 1 for no revisions, so that these sort last.
func isNil(r *revisions) int {
	if r == nil {
		return 1
	}
	return 0
}

// idOf is the id of the rule of that name.
func (c *Catalog) idOf(name types.NamespacedName) string {
	return c.ruleID(c.compiling.Namespace, name.Namespace, name.Name)
}
