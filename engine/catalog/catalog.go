package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// Options are what a Catalog needs. All are required, except Limits.
type Options struct {
	Kinds       Kinds
	Schemas     schemaReader
	Definitions definitionWriter
	// Namespace is Kanon's own namespace. A rule whose text names no namespace belongs there.
	Namespace string
	// Limits bound an evaluation. Default: those of package rules.
	Limits program.Limits
	// RuleID returns the id of a rule.
	RuleID func(kanonNamespace, namespace, name string) string
	// Recorded returns the names of the rules that have a record, by id: rules that run or ran, and rules that are
	// being removed. known is false until the records have been read.
	Recorded func() (rules map[string]types.NamespacedName, known bool)
	// Annotations returns the annotations of the record of a rule in a file, by the rule's id. Files cannot be
	// annotated, so people annotate the record.
	Annotations func(id string) source.Annotations
}

// Catalog holds the texts of all sources and the revisions of the rules in them.
type Catalog struct {
	ruleID func(kanonNamespace, namespace, name string) string
	// compiling holds the options for compiling rules.
	compiling   rules.Options
	schemas     *schemas
	definitions *definitionOwners
	recorded    func() (rules map[string]types.NamespacedName, known bool)
	annotations func(id string) source.Annotations
	clashes     clashes
	grace       *grace

	// origins has every origin of the sources, including those without texts, with its annotations.
	origins map[source.Origin]source.Annotations
	texts   map[string]*text
	byName  map[types.NamespacedName]*revisions
	// partial is true if some source could not be read completely. broken has the namespaces with a text that could
	// not be decoded. In both cases rules may exist that byName lacks. Texts in files count towards Kanon's own
	// namespace.
	partial bool
	broken  sets.Set[string]
	// removed has the ids of rules that left byName and still have a record. refused has the ids of rules that are
	// not admitted because their tenant has too many.
	removed, refused sets.Set[string]
}

// New returns a catalog without texts. now is the start of the process.
func New(options Options, now time.Time) *Catalog {
	c := &Catalog{
		ruleID:      options.RuleID,
		schemas:     newSchemas(options.Kinds, options.Schemas),
		definitions: newDefinitions(options.Kinds, options.Definitions),
		grace:       newGrace(now),
		recorded:    options.Recorded,
		annotations: options.Annotations,
		texts:       make(map[string]*text),
		byName:      make(map[types.NamespacedName]*revisions),
		removed:     make(sets.Set[string]),
	}
	c.compiling = rules.Options{
		Kinds: CompilerKinds(options.Kinds), AwaitKinds: true, Schemas: c.schemas, Namespace: options.Namespace, Limits: options.Limits,
	}
	return c
}

// Update takes in the changes, and the schemas and definitions that were read and applied since the last call. It
// compiles rules that are new or use a kind that changed, unless they have to wait.
func (c *Catalog) Update(changes Changes, now time.Time) {
	newText := c.readTexts(changes.Snapshots)
	used, changed := c.kindsInUse(), changes.Kinds.Clone()
	for gvk := range used {
		if changes.Groups.Has(gvk.Group) {
			changed.Insert(gvk)
		}
	}
	withSchemas := changed.Union(c.schemas.update(used, changed, newText, now))
	c.inferAgain(withSchemas)
	c.broken = make(sets.Set[string])
	for _, t := range c.texts {
		if t.findings.HasErrors() {
			c.broken.Insert(c.placeOf(t).Namespace)
		}
	}
	c.definitions.update(c.allDefinitions(), c.brokenTexts(), changed, now)
	c.updateRevisions(withSchemas)
}

// kindsInUse returns the kinds that rules name, in the newest texts and in the last good revisions.
func (c *Catalog) kindsInUse() KindSet {
	used := make(KindSet)
	for _, t := range c.texts {
		for _, rule := range t.docs.Rules {
			used.Insert(rule.Kinds()...)
		}
		for _, rule := range t.docs.Partial {
			if rule.Parent.Definition != nil { // a missing type may be that of a field of such a kind
				used.Insert(rule.Kinds()...)
			}
		}
	}
	for _, r := range c.byName {
		used.Insert(r.kinds()...)
	}
	return used
}

// updateRevisions compiles the rules that are new or use a kind in changed.
func (c *Catalog) updateRevisions(changed KindSet) {
	recorded, known := c.recorded()
	claims := c.claims()
	c.admit(claims, recorded)
	for name, claimed := range claims {
		c.recompile(c.assign(name, claimed), changed)
	}
	for name, r := range c.byName {
		switch {
		case claims[name] != nil:
		case c.texts[r.text] != nil && c.texts[r.text].findings.HasErrors():
			// The text that had the rule cannot be decoded completely, and may still have it.
			c.recompile(r, changed)
		default:
			delete(c.byName, name)
			c.removed.Insert(r.id)
		}
	}
	// A rule without a record left nothing behind. Until the records are known, no rule counts as removed.
	maps.DeleteFunc(c.removed, func(id string, _ sets.Empty) bool { _, ok := recorded[id]; return !known || !ok })
}

// waitsFor describes what a revision with these kinds waits for; empty if nothing. newest is the text's newest
// revision, which also waits for the definitions of the text; nil for the last good revision.
func (c *Catalog) waitsFor(text string, newest *syntax.Rule, kinds []schema.GroupVersionKind) string {
	if newest != nil {
		if awaits := newest.Parent.Awaits; len(awaits) > 0 {
			return fmt.Sprintf("%s in %s, from which the status takes its types; spec.parent.schema.status can give them", awaits[0].Kind, awaits[0].GroupVersion())
		}
		if failure := c.definitions.failure(newest); failure != nil {
			return failure.Message
		}
		if definition := c.definitions.waitsFor(text); definition != "" {
			return definition
		}
	}
	for _, gvk := range kinds {
		waits, err := c.schemas.isAwaited(gvk)
		if !waits {
			continue
		}
		name := gvk.Kind
		if gvk.Group != "" {
			name += "." + gvk.Group
		}
		if err != nil {
			return fmt.Sprintf("the schema of %s: %v", name, err)
		}
		return fmt.Sprintf("the schema of %s, which is being read", name)
	}
	return ""
}

// Rules returns all rules, sorted by id.
func (c *Catalog) Rules() []Rule {
	all := make([]Rule, 0, len(c.byName))
	for _, r := range c.byName {
		all = append(all, c.rule(r))
	}
	slices.SortFunc(all, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// IsCompleteIn reports whether Rules returns all rules of a namespace that exist. If a source could not be read or a text
// of the namespace could not be decoded, there may be others. Texts that belong elsewhere cannot define its rules.
func (c *Catalog) IsCompleteIn(namespace string) bool { return !c.partial && !c.broken.Has(namespace) }

// Removed reports whether the rule with this id existed and no longer does. It is false for a rule without a record.
func (c *Catalog) Removed(id string) bool { return c.removed.Has(id) }

// Refused reports whether a text defines the rule with this id, but it is not admitted because its tenant has too
// many. Such a rule does not count as removed.
func (c *Catalog) Refused(id string) bool { return c.refused.Has(id) }

// HasOrigin reports whether some source has this origin.
func (c *Catalog) HasOrigin(origin source.Origin) bool {
	_, ok := c.origins[origin]
	return ok
}

// allDefinitions returns the CustomResourceDefinitions of all texts.
func (c *Catalog) allDefinitions() []Definition {
	var all []Definition
	for _, name := range slices.Sorted(maps.Keys(c.texts)) {
		t := c.texts[name]
		for _, d := range t.definitions {
			d.created = t.created
			d.Confirmed = syntax.ConfirmedRevisions(c.origins[t.origin].ConfirmDefinition)
			if d.rule == nil {
				d.Confirmed = append(d.Confirmed, syntax.ConfirmedRevisions(d.Object.GetAnnotations()[syntax.AnnotationConfirmDefinition])...)
			} else {
				d.Rule = c.nameOf(t, d.rule)
				d.Adopt = d.rule.Parent.AdoptsDefinition()
				d.Confirmed = append(d.Confirmed, d.rule.ConfirmedDefinitions()...)
			}
			all = append(all, d)
		}
	}
	return all
}

// brokenTexts returns the texts that cannot be decoded completely. They may still have the definitions that they had
// before.
func (c *Catalog) brokenTexts() sets.Set[string] {
	broken := make(sets.Set[string])
	for name, t := range c.texts {
		untyped := func(rule *syntax.Rule) bool { return rule.Parent.Untyped }
		if t.findings.HasErrors() || slices.ContainsFunc(t.docs.Rules, untyped) {
			broken.Insert(name)
		}
	}
	return broken
}
