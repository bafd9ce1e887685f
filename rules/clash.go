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
)

// Clash is what one rule and another one that runs beside it do to the same objects, as far as that
// is known without a parent.
type Clash struct {
	// With is the other rule.
	With *Rule
	// Position is the place in the rule, and Other that in the other one.
	Position, Other diagnostic.Position
	// ConditionsOf is the kind of the parents, where the clash is about their conditions; else
	// empty. Of kinds on which Kanon sets no conditions it is none.
	ConditionsOf schema.GroupVersionKind
	// Message says what clashes, and what to do about it. It names the other rule.
	Message string
}

// Clashes lists, for each of some rules that run at the same time, what it does to the objects of
// others: Kanon's conditions of the same types on the same parents, and children that are the same
// object. What selectors and namespaces keep apart is no clash.
func Clashes(all []*Rule) [][]Clash {
	type spokesman struct {
		schema.GroupKind
		prefix string
	}
	type maker struct{ rule, child int }
	speaking, making := make(map[spokesman][]int), make(map[childIdentity][]maker)
	found := make([][]Clash, len(all))
	for i, r := range all {
		as := spokesman{r.parent.gvk.GroupKind(), r.ConditionPrefix}
		for _, j := range speaking[as] {
			if !isBuiltIn(as.Group) && r.parent.overlaps(&all[j].parent) {
				found[i] = append(found[i], r.clashOfConditions(all[j]))
				found[j] = append(found[j], all[j].clashOfConditions(r))
			}
		}
		speaking[as] = append(speaking[as], i)
		for c := range r.children {
			id := r.children[c].identity()
			if id.name == "" {
				continue
			}
			for _, m := range making[id] {
				if other := all[m.rule]; m.rule != i && id.isOne(&r.parent, &other.parent) {
					found[i] = append(found[i], r.clashOfChildren(c, other, m.child, id))
					found[m.rule] = append(found[m.rule], other.clashOfChildren(m.child, r, c, id))
				}
			}
			making[id] = append(making[id], maker{i, c})
		}
	}
	return found
}

func (r *Rule) clashOfConditions(other *Rule) Clash {
	prefix := fmt.Sprintf("the conditionPrefix %q", r.ConditionPrefix)
	if r.ConditionPrefix == "" {
		prefix = "no conditionPrefix"
	}
	return Clash{With: other, Position: r.parent.pos, Other: other.parent.pos, ConditionsOf: r.parent.gvk, Message: fmt.Sprintf(
		"rule %s is for objects of kind %s too, and both have %s: a parent of both has the conditions of one of them only; "+
			"give one of them another conditionPrefix", other.Name, r.parent.gvk.Kind, prefix)}
}

func (r *Rule) clashOfChildren(child int, other *Rule, theirs int, id childIdentity) Clash {
	return Clash{With: other, Position: r.children[child].pos, Other: other.children[theirs].pos, Message: fmt.Sprintf(
		"child %s is the same %s %s as child %s of rule %s: only one of the two rules can make it; give one of them another name",
		r.children[child].label(), id.kind, id.name, other.children[theirs].label(), other.Name)}
}

// childIdentity is which object a child is, as the texts of its name and namespace say. Two equal
// texts give the same for one parent.
type childIdentity struct {
	group, kind string
	// namespace is empty where it is the parent's, or where there is none.
	namespace, name string
	// fixed is true where the texts have no expression, and so are the same for all parents.
	fixed bool
}

// isOne tells whether children of two rules that have this identity are one object: where the rules
// are for the same parents, or the object is the same one for all parents.
func (id childIdentity) isOne(a, b *parentSpec) bool {
	return id.fixed && id.namespace != "" || a.gvk.GroupKind() == b.gvk.GroupKind() && a.overlaps(b)
}

// identity is which object the child is; without a name where that is not known without a
// parent: where it may not exist, is one of many, or has its name from something but the parent.
func (c *childSpec) identity() childIdentity {
	if c.when != nil || c.many() || c.createWhen != nil || c.cleanup || c.template == nil {
		return childIdentity{}
	}
	metadata, gvk := c.template.Get("metadata"), templateGVK(c.template)
	name, named := metadata.Get("name").Text()
	namespace, _ := metadata.Get("namespace").Text()
	if !named || gvk.Kind == "" || !readsParentOnly(name) || !readsParentOnly(namespace) {
		return childIdentity{}
	}
	if strings.TrimSpace(namespace) == "${parent.metadata.namespace}" {
		namespace = ""
	}
	return childIdentity{
		group: gvk.Group, kind: gvk.Kind, namespace: namespace, name: name,
		fixed: !hasExpression(name) && !hasExpression(namespace),
	}
}

// otherNames finds what an expression can read besides the parent.
var otherNames = regexp.MustCompile(`\b(variables|lookups|children|observed|each|status|self|now|finalizing|random)\b`)

// readsParentOnly tells whether a text has no expression that may read anything but the parent.
func readsParentOnly(text string) bool {
	parts, err := scan(text)
	return err == nil && !slices.ContainsFunc(parts, func(p part) bool {
		return p.expr && otherNames.MatchString(strings.ReplaceAll(p.text, "parent.status", ""))
	})
}

// overlaps tells whether one object may be a parent for both, by namespaces and labels.
func (p *parentSpec) overlaps(other *parentSpec) bool {
	if len(p.namespaces) > 0 && len(other.namespaces) > 0 &&
		!slices.ContainsFunc(p.namespaces, func(name string) bool { return slices.Contains(other.namespaces, name) }) {
		return false
	}
	return mayOverlap(p.selector, other.selector) && mayOverlap(p.namespaceSelector, other.namespaceSelector)
}

// mayOverlap tells whether one set of labels may match both selectors; nil selects all. Of what a
// selector can ask for, values that differ and labels that must be absent are compared.
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

// excludes tells whether no value of a label fulfils both requirements, as seen from the first.
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
