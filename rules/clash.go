package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	labelop "k8s.io/apimachinery/pkg/selection"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Clash is a conflict between two rules that run at the same time, as far as it is known without a parent.
type Clash struct {
	// With is the other rule.
	With *syntax.Rule
	// Position is the position in the rule, and Other the one in the other rule.
	Position, Other diagnostic.Position
	// ConditionsOf is the kind of the parents if both rules write the same conditions. If Kanon
	// sets no conditions on objects of that kind, there is no clash.
	ConditionsOf schema.GroupVersionKind
	// Message describes the conflict and what to do about it. It names the other rule.
	Message string
}

// Finding is the finding for a rule with this conflict.
func (c Clash) Finding(r *syntax.Rule) diagnostic.Finding {
	f := diagnostic.New(c.Position, diagnostic.CodeClash, "%s; that rule is at %s", c.Message, c.Other)
	return *f.WithRelated(c.Other, "the other rule").WithLines(r.Source)
}

// maxClashes bounds the conflicts that are found of one rule: the first ones are enough to act on, and there could be
// millions.
const maxClashes = 10

// FindClashes finds, for each of the rules that run at the same time, its conflicts with the others: schemas for the same
// kind, the same conditions on the same parents, and children that are the same object. Rules whose selectors or
// namespaces exclude each other have no conflict.
func FindClashes(all []*syntax.Rule) [][]Clash {
	type spokesman struct {
		schema.GroupKind
		prefix string
	}
	type maker struct{ rule, child int }
	speaking, making := make(map[spokesman][]int), make(map[childIdentity][]maker)
	found := make([][]Clash, len(all))
	note := func(rule int, clash func() Clash) { found[rule] = withClash(found[rule], clash) }
	defining := make(map[schema.GroupKind][]int)
	for i, r := range all {
		if r.Parent.Definition != nil {
			kind := r.Parent.GVK.GroupKind()
			for _, j := range defining[kind] {
				note(i, func() Clash { return ClashOfSchemas(r, all[j]) })
				note(j, func() Clash { return ClashOfSchemas(all[j], r) })
			}
			defining[kind] = append(defining[kind], i)
		}
		as := spokesman{r.Parent.GVK.GroupKind(), r.ConditionPrefix}
		for _, j := range speaking[as] {
			if !syntax.IsBuiltIn(as.Group) && overlap(&r.Parent, &all[j].Parent) {
				note(i, func() Clash { return ofConditions(r, all[j]) })
				note(j, func() Clash { return ofConditions(all[j], r) })
			}
		}
		speaking[as] = append(speaking[as], i)
		for c := range r.Children {
			id := clashIdentity(&r.Children[c])
			if id.Name == "" {
				continue
			}
			for _, m := range making[id] {
				if other := all[m.rule]; m.rule != i && id.isOne(&r.Parent, &other.Parent) {
					note(i, func() Clash { return ofChildren(r, c, other, m.child, id) })
					note(m.rule, func() Clash { return ofChildren(other, m.child, r, c, id) })
				}
			}
			making[id] = append(making[id], maker{i, c})
		}
	}
	return found
}

func withClash(found []Clash, clash func() Clash) []Clash {
	if len(found) >= maxClashes {
		return found
	}
	return append(found, clash())
}

// ClashOfSchemas is the conflict of a rule with another one that has a schema for the same kind.
func ClashOfSchemas(r, other *syntax.Rule) Clash {
	return Clash{With: other, Position: r.Parent.Pos, Other: other.Parent.Pos, Message: fmt.Sprintf(
		"rule %s has a schema for kind %s too: the kind gets that of the older rule; remove schema from one of them", other.Name, r.Parent.GVK.Kind)}
}

func ofConditions(r, other *syntax.Rule) Clash {
	prefix := fmt.Sprintf("the conditionPrefix %q", r.ConditionPrefix)
	if r.ConditionPrefix == "" {
		prefix = "no conditionPrefix"
	}
	return Clash{With: other, Position: r.Parent.Pos, Other: other.Parent.Pos, ConditionsOf: r.Parent.GVK, Message: fmt.Sprintf(
		"rule %s is for objects of kind %s too, and both have %s: a parent of both has the conditions of one of them only; "+
			"give one of them another conditionPrefix", other.Name, r.Parent.GVK.Kind, prefix)}
}

func ofChildren(r *syntax.Rule, child int, other *syntax.Rule, theirs int, id childIdentity) Clash {
	return Clash{With: other, Position: r.Children[child].Pos, Other: other.Children[theirs].Pos, Message: fmt.Sprintf(
		"child %s is the same %s %s as child %s of rule %s: only one of the two rules can make it; give one of them another name",
		r.Children[child].Label(), id.Kind, id.Name, other.Children[theirs].Label(), other.Name)}
}

// childIdentity identifies the object of a child by the texts of its name and namespace. Equal texts give equal names
// for one parent.
type childIdentity struct {
	schema.GroupKind
	flow.ObjectText
	// fixed is true if the texts have no expression, so that they are the same for all parents.
	fixed bool
}

// isOne reports whether the children of two rules with this identity are one object: the rules have the same parents,
// or the object is the same for all parents.
func (id childIdentity) isOne(a, b *syntax.Parent) bool {
	return id.fixed && id.Namespace != "" || a.GVK.GroupKind() == b.GVK.GroupKind() && overlap(a, b)
}

// clashIdentity is the identity of a child's object. It has no name if the object depends on more than the parent: the
// child may not exist, it is one of many, or its name reads something else.
func clashIdentity(c *syntax.Child) childIdentity {
	if c.When != nil || c.Many() || c.CreateWhen != nil || c.Cleanup || c.Template == nil {
		return childIdentity{}
	}
	metadata, gvk := c.Template.Get("metadata"), syntax.TemplateGVK(c.Template)
	name, named := metadata.Get("name").Text()
	namespace, _ := metadata.Get("namespace").Text()
	if !named || gvk.Kind == "" || !readsParentOnly(name) || !readsParentOnly(namespace) {
		return childIdentity{}
	}
	id := childIdentity{GroupKind: gvk.GroupKind(), ObjectText: flow.ObjectTextOf(metadata.Get("name"), metadata.Get("namespace"))}
	id.fixed = !yamltree.HasExpression(id.Name) && !yamltree.HasExpression(id.Namespace)
	return id
}

// otherNames matches what an expression can read besides the parent.
var otherNames = regexp.MustCompile(`\b(variables|lookups|children|observed|each|status|self|now|finalizing|random)\b`)

// readsParentOnly reports whether the expressions in a text read nothing but the parent.
func readsParentOnly(text string) bool {
	parts, err := yamltree.Scan(text)
	return err == nil && !slices.ContainsFunc(parts, func(p yamltree.Part) bool {
		return p.Expr && otherNames.MatchString(strings.ReplaceAll(p.Text, "parent.status", ""))
	})
}

// overlap reports whether one object may be a parent for both, by namespaces and labels.
func overlap(p, other *syntax.Parent) bool {
	if len(p.Namespaces) > 0 && len(other.Namespaces) > 0 &&
		!slices.ContainsFunc(p.Namespaces, func(name string) bool { return slices.Contains(other.Namespaces, name) }) {
		return false
	}
	return mayOverlap(p.Selector, other.Selector) && mayOverlap(p.NamespaceSelector, other.NamespaceSelector)
}

// mayOverlap reports whether one set of labels may match both selectors. A nil selector matches everything. Only
// contradictory values and labels that must be absent are compared.
func mayOverlap(a, b labels.Selector) bool {
	if a == nil || b == nil {
		return true
	}
	left, selects := a.Requirements()
	right, selectsToo := b.Requirements()
	return selects && selectsToo && !slices.ContainsFunc(left, func(one labels.Requirement) bool {
		return slices.ContainsFunc(right, func(two labels.Requirement) bool {
			return one.Key() == two.Key() && (excludes(one, two) || excludes(two, one))
		})
	})
}

// excludes reports whether no value of a label meets both requirements, as seen from a.
func excludes(a, b labels.Requirement) bool {
	switch a.Operator() {
	case labelop.In, labelop.Equals, labelop.DoubleEquals:
		return !slices.ContainsFunc(a.ValuesUnsorted(), func(value string) bool { return b.Matches(labels.Set{a.Key(): value}) })
	case labelop.Exists:
		return b.Operator() == labelop.DoesNotExist
	default:
		return false
	}
}
