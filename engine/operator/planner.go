package operator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/catalog"
	"kanon.dev/kanon/engine/record"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/syntax"
)

// Catalog is what the Planner reads of the catalog.
type Catalog interface {
	// IsCompleteIn reports whether all rules of a namespace are known, and Removed whether a rule was seen to be
	// removed. Refused reports whether a rule exists but is ignored.
	IsCompleteIn(namespace string) bool
	Removed(id string) bool
	Refused(id string) bool
}

// Records is what the Planner reads of the records of rules that ran.
type Records interface {
	IDs() []string
	Get(id string) (record.Record, bool)
	IsPending(id string) bool
	IsRemovalMeant(id string) bool
}

// Planner decides which rules run and which are removed. One goroutine owns it.
type Planner struct {
	kinds   rules.Kinds
	records Records
	covers  func(source.Origin) bool
	// underWay has the removals that have begun, by the rules' ids.
	underWay map[string]*Removal
	// doubts has the reasons why rules without a text are not removed yet, by the rules' ids.
	doubts map[string]string
}

// NewPlanner makes a Planner. covers reports whether one of the sources would find a text at an origin: a rule in a
// file does not count as removed because this process was started without that file.
func NewPlanner(kinds rules.Kinds, records Records, covers func(source.Origin) bool) *Planner {
	return &Planner{kinds: kinds, records: records, covers: covers, underWay: make(map[string]*Removal)}
}

// Run is a rule to run or to remove. A removed one has the program of the rule that stands in for it.
type Run struct {
	catalog.Rule

	// Removal is nil for a rule that runs as written.
	Removal *Removal
}

// Doubts returns why rules without a text are not removed yet, by the rules' ids, as of the last call of Runs.
func (p *Planner) Doubts() map[string]string { return p.doubts }

// Runs lists what to run now, ordered by the rules' ids. all are the rules of the catalog.
func (p *Planner) Runs(c Catalog, all []catalog.Rule) []Run {
	var found []Run
	p.doubts = make(map[string]string)
	underWay := make(map[string]*Removal)
	run := func(rule catalog.Rule, r *Removal) {
		if r != nil {
			underWay[rule.ID], rule.Program = r, r.Program
		}
		found = append(found, Run{rule, r})
	}
	exists := make(map[string]bool, len(all))
	for _, rule := range all {
		if exists[rule.ID] = true; rule.Program != nil {
			run(rule, p.fromFormerParents(rule))
		}
	}
	for _, id := range p.records.IDs() {
		if exists[id] || c.Refused(id) {
			continue
		}
		if rule, r := p.ofRemoved(c, id); r != nil {
			run(rule, r)
		} else if r := p.underWay[id]; r != nil {
			underWay[id] = r // it continues when the doubt is resolved
		}
	}
	p.underWay = underWay
	slices.SortFunc(found, func(a, b Run) int { return cmp.Compare(a.ID, b.ID) })
	return found
}

// fromFormerParents returns the removal of a rule from a kind of parents that it no longer has; nil if there is none.
// The rule starts with its new kind after that.
func (p *Planner) fromFormerParents(rule catalog.Rule) *Removal {
	stored, ok := p.records.Get(rule.ID)
	if !ok {
		return nil
	}
	now := rule.Program.Parent.GVK.GroupKind()
	for _, kind := range stored.Parents {
		if kind.GVK().GroupKind() == now {
			continue // another version has the same objects
		}
		if r := p.of(rule.ID, rule.Name, kind.GVK(), &stored); r != nil {
			return r
		}
	}
	return nil
}

// ofRemoved returns the removal of a rule that has no text any more; nil while the rule may still exist in a source
// that was not read or a text that cannot be decoded. A rule that was seen to be removed is removed in spite of that if
// nothing is deleted.
func (p *Planner) ofRemoved(c Catalog, id string) (catalog.Rule, *Removal) {
	underWay := p.underWay[id] != nil
	stored, ok := p.records.Get(id)
	if !ok || len(stored.Parents) == 0 {
		return catalog.Rule{}, nil
	}
	if !underWay && p.records.IsPending(id) {
		return catalog.Rule{}, nil // a pending change of the record may keep the children; the records notify the inbox
	}
	namespace, name, _ := strings.Cut(stored.Rule, "/")
	sure := c.IsCompleteIn(namespace) && (c.Removed(id) || p.covers(stored.Origin.Source()))
	if !sure && (!c.Removed(id) || stored.OnRuleDeletion == syntax.DeleteChildren) {
		if !c.IsCompleteIn(namespace) { // otherwise no source would find the text: the rule is just not read, not removed
			p.doubts[id] = "another text of its namespace cannot be read, and may have the rule"
		}
		return catalog.Rule{}, nil
	}
	if !underWay && stored.Origin.Path == "" && !p.records.IsRemovalMeant(id) {
		return catalog.Rule{}, nil
	}
	rule := catalog.Rule{Summary: catalog.Summary{ID: id, Name: types.NamespacedName{Namespace: namespace, Name: name}}}
	parent := stored.Parents[len(stored.Parents)-1].GVK()
	r := p.of(id, rule.Name, parent, &stored)
	if r == nil {
		p.doubts[id] = fmt.Sprintf("the cluster has no kind %s in %s, so nobody knows what the rule has left there", parent.Kind, parent.GroupVersion())
	}
	return rule, r
}

// of returns the removal of a rule from a kind of parents: the one that is under way, if any. It returns nil if the
// cluster does not have the kind.
func (p *Planner) of(id string, name types.NamespacedName, parent schema.GroupVersionKind, stored *record.Record) *Removal {
	if r := p.underWay[id]; r != nil && r.Parent == parent && r.Children == stored.OnRuleDeletion {
		return r
	}
	kind, ok := p.kinds.Lookup(parent)
	if !ok || stored.Confined && !kind.Namespaced {
		return nil
	}
	return &Removal{Program: standIn(name, parent, kind.Namespaced, stored), Parent: parent, Children: stored.OnRuleDeletion}
}

// standIn returns a rule that creates nothing, for the same parents, with the same rights and the same conditions as the
// removed one.
func standIn(name types.NamespacedName, parent schema.GroupVersionKind, namespaced bool, stored *record.Record) *program.Program {
	limits := program.Limits{}.WithDefaults()
	standIn := &program.Program{
		Name: name.Name, Hash: "removed from " + parent.String(), ConditionPrefix: stored.ConditionPrefix,
		ServiceAccountName: stored.ServiceAccountName, Confined: stored.Confined,
		Parent:    program.Parent{GVK: parent, Namespaced: namespaced},
		Variables: make(map[string]*program.Variable), ByID: make(map[string]int), Limits: &limits,
		OnRuleDeletion: syntax.OrphanChildren, HasSecrets: syntax.IsSecret(parent), HidesNames: stored.HidesNames,
	}
	if stored.Confined {
		standIn.ServiceAccountName = cmp.Or(stored.ServiceAccountName, program.TenantServiceAccount) // never Kanon's own
		standIn.Parent.Namespaces = []string{name.Namespace}
	}
	for _, conditionType := range stored.Conditions {
		standIn.Conditions = append(standIn.Conditions, program.ConditionTemplate{Type: conditionType})
	}
	return standIn
}
