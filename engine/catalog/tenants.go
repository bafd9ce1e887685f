package catalog

import (
	"cmp"
	"errors"

	"k8s.io/apimachinery/pkg/types"

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

// maxTenantRules is how many rules a tenant may have in a namespace: each takes memory, an informer or two, and a turn.
const maxTenantRules = 100

// refuse passes over a rule of a tenant who has too many. It may have run in another process, so its namespace counts as one with a
// text that cannot be read: nothing is taken for removed there.
func (c *Catalog) refuse(text string, rule *syntax.Rule, name types.NamespacedName) {
	t := c.texts[text]
	t.conflicts = append(t.conflicts, rule.TooMany(name.Namespace, maxTenantRules))
	c.broken.Insert(name.Namespace)
}
