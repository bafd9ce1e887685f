package removal

import (
	"bytes"
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
	// IsCompleteIn tells whether a namespace can have no other rules, and Removed whether a rule was seen to be removed. Refused tells
	// whether a rule exists, and is passed over.
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

// Planner decides which rules run, and which are removed. One goroutine owns it.
type Planner struct {
	kinds   rules.Kinds
	records Records
	covers  func(source.Origin) bool
	// underWay has the removals that have begun, by the rule's id.
	underWay map[string]*Removal
	// doubts has why rules that are in no text are not being removed, by their ids.
	doubts map[string]string
}

// NewPlanner makes a Planner. covers tells whether one of the sources would find a text at an origin: a rule in a file is not
// removed because this process was started without that file.
func NewPlanner(kinds rules.Kinds, records Records, covers func(source.Origin) bool) *Planner {
	return &Planner{kinds: kinds, records: records, covers: covers, underWay: make(map[string]*Removal)}
}

// Run is a rule that is to run, or to be removed.
type Run struct {
	Rule    catalog.Rule
	Program *program.Program
	// Removal is nil for a rule that is to run as its text has it.
	Removal *Removal
}

// Doubts are the reasons for which rules that are in no text are not being removed, by their ids, as of the last call of Runs.
func (p *Planner) Doubts() map[string]string { return p.doubts }

// Runs lists what is to run now, in the order of the rules' ids. all are the rules of the catalog.
func (p *Planner) Runs(c Catalog, all []catalog.Rule) []Run {
	var found []Run
	p.doubts = make(map[string]string)
	underWay := make(map[string]*Removal)
	begin := func(id string, r *Removal) *Removal {
		if r != nil {
			underWay[id] = r
		}
		return r
	}
	exists := make(map[string]bool, len(all))
	for _, rule := range all {
		exists[rule.ID] = true
		if rule.Program == nil {
			continue
		}
		next := Run{Rule: rule, Program: rule.Program}
		if next.Removal = begin(rule.ID, p.fromFormerParents(rule)); next.Removal != nil {
			next.Program = next.Removal.Program
		}
		found = append(found, next)
	}
	for _, id := range p.records.IDs() {
		if exists[id] || c.Refused(id) {
			continue
		}
		rule, removal := p.ofRemoved(c, id)
		if begin(id, removal) != nil {
			found = append(found, Run{Rule: rule, Program: removal.Program, Removal: removal})
		} else if r := p.underWay[id]; r != nil {
			underWay[id] = r // it goes on when the doubt is over
		}
	}
	p.underWay = underWay
	slices.SortFunc(found, func(a, b Run) int { return cmp.Compare(a.Rule.ID, b.Rule.ID) })
	return found
}

// fromFormerParents is the removal of a rule from a kind of parents that it has no more; nil if there is none. The rule begins
// with the new kind after that.
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

// ofRemoved is the removal of a rule that is in no text any more; nil while it is in doubt whether the rule still exists: a
// source that was not read, or a text that cannot be decoded, may have it. A rule that was seen to be removed is removed even so
// if nothing is deleted.
func (p *Planner) ofRemoved(c Catalog, id string) (catalog.Rule, *Removal) {
	underWay := p.underWay[id] != nil
	stored, ok := p.records.Get(id)
	if !ok || len(stored.Parents) == 0 {
		return catalog.Rule{}, nil
	}
	if !underWay && p.records.IsPending(id) {
		return catalog.Rule{}, nil // what is being written to the record may say that the children stay; the records notify the inbox
	}
	namespace, name, _ := strings.Cut(stored.Rule, "/")
	sure := c.IsCompleteIn(namespace) && (c.Removed(id) || p.covers(stored.Origin.Source()))
	if !sure && (!c.Removed(id) || stored.OnRuleDeletion == syntax.DeleteChildren) {
		if !c.IsCompleteIn(namespace) { // where no source would find its text, it is not removed, but not read
			p.doubts[id] = "another text of its namespace cannot be read, and may have the rule"
		}
		return catalog.Rule{}, nil
	}
	if !underWay && stored.Origin.Path == "" && !p.records.IsRemovalMeant(id) {
		return catalog.Rule{}, nil
	}
	rule := catalog.Rule{ID: id, Name: types.NamespacedName{Namespace: namespace, Name: name}}
	parent := stored.Parents[len(stored.Parents)-1].GVK()
	r := p.of(id, rule.Name, parent, &stored)
	if r == nil {
		p.doubts[id] = fmt.Sprintf("the cluster has no kind %s in %s, so nobody knows what the rule has left there", parent.Kind, parent.GroupVersion())
	}
	return rule, r
}

// of is the removal of a rule from a kind of parents, the same one as before if that is under way; nil if the cluster does not
// have the kind.
func (p *Planner) of(id string, name types.NamespacedName, parent schema.GroupVersionKind, stored *record.Record) *Removal {
	if r := p.underWay[id]; r != nil && r.Parent == parent && r.Children == stored.OnRuleDeletion {
		return r
	}
	docs, _ := syntax.Decode("removed "+name.String(), standIn(name.Name, parent, stored))
	if len(docs.Rules) == 0 {
		return nil
	}
	program, _ := rules.Compile(docs.Rules[0], rules.Options{Kinds: p.kinds, Namespace: name.Namespace, Confined: stored.Confined})
	if program == nil {
		return nil
	}
	return &Removal{Program: program, Parent: parent, Children: stored.OnRuleDeletion}
}

// standIn is the text of a rule that makes nothing, for the same parents and with the same conditions as the one that is gone.
func standIn(name string, parent schema.GroupVersionKind, stored *record.Record) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nmetadata: {name: %q}\nspec:\n  parent: {apiVersion: %q, kind: %q}\n",
		syntax.APIVersion, syntax.RuleKind, name, parent.GroupVersion().String(), parent.Kind)
	if stored.ServiceAccountName != "" {
		fmt.Fprintf(&b, "  serviceAccountName: %q\n", stored.ServiceAccountName)
	}
	if stored.ConditionPrefix != "" {
		fmt.Fprintf(&b, "  conditionPrefix: %q\n", stored.ConditionPrefix)
	}
	for i, conditionType := range stored.Conditions {
		if i == 0 {
			b.WriteString("  conditions:\n")
		}
		fmt.Fprintf(&b, "  - {type: %q, status: Unknown}\n", conditionType)
	}
	return b.Bytes()
}
