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
	"kanon.dev/kanon/rules/program/template"
	"kanon.dev/kanon/rules/syntax"
)

// Options are what a Catalog needs. All are required, except Limits and Recorded.
type Options struct {
	Kinds       Kinds
	Schemas     SchemaReader
	Definitions DefinitionWriter
	// Namespace is Kanon's own: that of a rule whose text names none.
	Namespace string
	// Limits bound what an evaluation takes. Default: those of package rules.
	Limits template.Limits
	// RuleID is the id of the rule of that namespace and name.
	RuleID func(kanonNamespace, namespace, name string) string
	// Recorded has the names of the rules of which a record exists, by their ids: those that run, or ran, and those that are being
	// removed. It is false until the records are known. Default: it stays so.
	Recorded func() (rules map[string]types.NamespacedName, known bool)
	// Annotations are those of the record of a rule in a file, by the rule's id: people can annotate no file. Default: none.
	Annotations func(id string) source.Annotations
}

// Catalog has the texts of all sources, and the revisions of the rules in them.
type Catalog struct {
	ruleID func(kanonNamespace, namespace, name string) string
	// compiling are the options that rules are compiled with.
	compiling   rules.Options
	schemas     *schemas
	definitions *definitions
	recorded    func() (rules map[string]types.NamespacedName, known bool)
	annotations func(id string) source.Annotations
	clashes     clashes
	grace       *grace

	// origins has everything that the sources have, also what holds no text, with what its
	// annotations confirm.
	origins map[source.Origin]source.Annotations
	texts   map[string]*text
	byName  map[types.NamespacedName]*revisions
	// partial is true if a source was not read whole, and broken has the namespaces with a text that could not be decoded: a rule
	// that is not in byName may exist there. Rules of Kanon's own namespace are in files, too.
	partial bool
	broken  sets.Set[string]
	// removed has the ids of rules that were in byName and have a record, and refused those of rules in texts that are passed over,
	// because their tenant has too many.
	removed, refused sets.Set[string]
}

// New makes a catalog without texts. now is when the process started.
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
	if c.recorded == nil {
		c.recorded = func() (map[string]types.NamespacedName, bool) { return nil, false }
	}
	if c.annotations == nil {
		c.annotations = func(string) source.Annotations { return source.Annotations{} }
	}
	c.compiling = rules.Options{
		Kinds: CompilerKinds(options.Kinds), AwaitKinds: true, Schemas: c.schemas, Namespace: options.Namespace, Limits: options.Limits,
	}
	return c
}

// Update takes in what changed, and what was read and applied since the last call. It
// compiles what is new or uses a kind that changed, unless that has to wait.
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

// kindsInUse are the kinds that rules name, in the newest texts and in the last good
// revisions.
func (c *Catalog) kindsInUse() KindSet {
	used := make(KindSet)
	for _, t := range c.texts {
		for _, rule := range t.docs.Rules {
			used.Insert(rule.Kinds()...)
		}
		for _, rule := range t.docs.Partial {
			if rule.Parent.Definition != nil { // what it lacks may be the type of a field of such a kind
				used.Insert(rule.Kinds()...)
			}
		}
	}
	for _, r := range c.byName {
		used.Insert(r.kinds()...)
	}
	return used
}

// updateRevisions compiles the rules of the texts as far as they are new, or changed has a
// kind that they use.
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
			// The text that had the rule cannot be decoded whole, and may have it still.
			c.recompile(r, changed)
		default:
			delete(c.byName, name)
			c.removed.Insert(r.id)
		}
	}
	// Of a rule without a record nothing is left. Without the records, a rule whose text is gone is in doubt.
	maps.DeleteFunc(c.removed, func(id string, _ sets.Empty) bool { _, ok := recorded[id]; return !known || !ok })
}

// waitsFor is what a revision with these kinds has to wait for; empty: nothing. newest is the newest revision in the text, whose
// definitions come before it; nil for the last good revision.
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

// Rules lists the rules in the order of their ids.
func (c *Catalog) Rules() []Rule {
	all := make([]Rule, 0, len(c.byName))
	for _, r := range c.byName {
		all = append(all, c.rule(r))
	}
	slices.SortFunc(all, func(a, b Rule) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// IsComplete tells whether Rules lists all rules that exist. Otherwise a source that could
// not be read, or a text that could not be decoded, may have others.
func (c *Catalog) IsComplete() bool { return !c.partial && len(c.broken) == 0 }

// IsCompleteIn is IsComplete for the rules of a namespace: nobody's text elsewhere can have
// one of those.
func (c *Catalog) IsCompleteIn(namespace string) bool { return !c.partial && !c.broken.Has(namespace) }

// Removed tells whether a rule of that id existed, and exists no more. It is false for one that has no record.
func (c *Catalog) Removed(id string) bool { return c.removed.Has(id) }

// Refused tells whether a text has a rule of that id which is passed over, because its tenant has too many. It is not removed.
func (c *Catalog) Refused(id string) bool { return c.refused.Has(id) }

// HasOrigin tells whether a source has an origin.
func (c *Catalog) HasOrigin(origin source.Origin) bool {
	_, ok := c.origins[origin]
	return ok
}

// allDefinitions lists the CustomResourceDefinitions of all texts.
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
				d.Adopt = d.rule.Parent.AdoptDefinition
				d.Confirmed = append(d.Confirmed, d.rule.ConfirmedDefinitions()...)
			}
			all = append(all, d)
		}
	}
	return all
}

// brokenTexts are those that cannot be decoded whole: they may have what they had before.
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
