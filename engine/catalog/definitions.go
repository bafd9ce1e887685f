package catalog

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"kanon.dev/kanon/restmapping/definitions"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/syntax"
)

// definitionWriter applies CustomResourceDefinitions in the background, and retries. *DefinitionWriter implements it.
type definitionWriter interface {
	// Apply asks for a definition to be applied as its text has it.
	Apply(d Definition)
	// Drop forgets a definition.
	Drop(name string)
	// Take returns the results since the last call, by the names of the definitions.
	Take() map[string]AppliedDefinition
}

// Definition is a CustomResourceDefinition in a text.
type Definition struct {
	// Text names the text.
	Text   string
	Object *unstructured.Unstructured
	// Hash is the hash of the object.
	Hash string
	// Rule is the rule from whose schema the definition is generated; zero for a definition that stands beside rules.
	Rule types.NamespacedName
	// Adopt lets the rule take over a definition that Kanon did not create.
	Adopt bool
	// Confirmed names the changes that may be made although existing objects lose something by them.
	Confirmed []string

	// rule is the rule that Rule names; nil for a definition beside rules.
	rule *syntax.Rule
	// created is when the text's origin was created.
	created time.Time
	// kinds are the kinds that the definition serves.
	kinds []schema.GroupVersionKind
}

// AppliedDefinition is the result of applying a definition.
type AppliedDefinition struct {
	// Hash is that of the applied Definition.
	Hash string
	Err  error
	// Refused says why the definition stays unapplied until somebody acts. It is nil on success, and if a retry may
	// succeed. If it is set, so is Err.
	Refused *Failure
	At      time.Time
	// UID and Generation are those of the object in the cluster.
	UID        types.UID
	Generation int64
}

// definitionSettles is how long rules wait for the API server to serve the kinds of an applied definition. Some are
// never served, for example because another definition has their names.
const definitionSettles = 5 * time.Second

// definitionOwners decides which CustomResourceDefinitions of the texts are applied, and which rules wait for them. If
// several texts have the same definition, it belongs to the text that had it first, else to the oldest, else to the
// first by name. Definitions are never deleted: that would delete every object of their kinds.
type definitionOwners struct {
	kinds  kindLookup
	writer definitionWriter
	// now is the time of the last update.
	now time.Time
	// owned has each definition as its owning text has it, by name.
	owned map[string]Definition
	// applied has the result of applying each definition last, by name.
	applied map[string]AppliedDefinition
	// asked has the names of the definitions that the writer is applying or checking.
	asked sets.Set[string]
	// conflicts has, by text, errors about definitions that belong to another text and differ there.
	conflicts map[string]error
	// refused has the rules whose definition is not even tried, and why. clashes has the report lines about several
	// rules with a schema for one kind. Each update recomputes both.
	refused map[*syntax.Rule]*Failure
	clashes map[*syntax.Rule][]string
}

func newDefinitions(kinds kindLookup, writer definitionWriter) *definitionOwners {
	return &definitionOwners{
		kinds: kinds, writer: writer,
		owned:   make(map[string]Definition),
		applied: make(map[string]AppliedDefinition),
		asked:   make(sets.Set[string]),
	}
}

// update takes in what was applied, and asks for what is new in the texts. It has a definition checked again when
// kinds of its group changed, because it may have been deleted. The texts in broken may still have the definitions
// that they had.
func (d *definitionOwners) update(all []Definition, broken sets.Set[string], changed KindSet, now time.Time) {
	d.now = now
	for name, applied := range d.writer.Take() {
		if applied.Hash == d.owned[name].Hash {
			d.applied[name] = applied
			d.asked.Delete(name)
		}
	}
	byName := definitionsByName(all)
	d.conflicts, d.refused, d.clashes = make(map[string]error), make(map[*syntax.Rule]*Failure), make(map[*syntax.Rule][]string)
	for name, owned := range d.owned {
		switch {
		case byName[name] != nil:
		case broken.Has(owned.Text):
			d.ask(name, owned, owned, changed)
		default:
			d.forget(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		candidates, before := byName[name], d.owned[name]
		owned := candidates[0]
		if i := slices.IndexFunc(candidates, func(c Definition) bool { return c.Text == before.Text }); i >= 0 {
			owned = candidates[i]
		} else if broken.Has(before.Text) {
			owned = before
		}
		for _, c := range candidates {
			if c.rule != owned.rule || c.Text != owned.Text {
				d.clash(name, c, owned)
			}
		}
		d.ask(name, owned, before, changed)
	}
}

// ask has a definition applied if it is new or has to be checked again.
func (d *definitionOwners) ask(name string, owned, before Definition, changed KindSet) {
	d.owned[name] = owned
	if refused := d.renamed(name, owned); refused != nil {
		d.refused[owned.rule] = refused
		delete(d.applied, name)
		d.asked.Delete(name)
		d.writer.Drop(name)
		return
	}
	_, known := d.applied[name]
	isNew := before.Hash != owned.Hash || !known && !d.asked.Has(name)
	if isNew {
		delete(d.applied, name)
	}
	if !isNew && before.Rule == owned.Rule && before.Adopt == owned.Adopt && slices.Equal(before.Confirmed, owned.Confirmed) && !hasGroupOf(changed, name) {
		return
	}
	d.asked.Insert(name)
	d.writer.Apply(owned)
}

// clash records that a definition of one text belongs to another text.
func (d *definitionOwners) clash(name string, loser, owner Definition) {
	differs := loser.Hash != owner.Hash
	if loser.rule == nil {
		if differs {
			d.conflicts[loser.Text] = errors.Join(d.conflicts[loser.Text], fmt.Errorf("CustomResourceDefinition %s is already in %s, and differs there", name, owner.Text))
		}
		return
	}
	where := owner.Text
	if owner.rule != nil {
		where = fmt.Sprintf("rule %s, in %s", owner.Rule, owner.Text)
		for _, pair := range [][2]*syntax.Rule{{owner.rule, loser.rule}, {loser.rule, owner.rule}} {
			d.clashes[pair[0]] = append(d.clashes[pair[0]], rules.ClashOfSchemas(pair[0], pair[1]).Finding(pair[0]).String())
		}
	}
	if differs {
		d.refused[loser.rule] = &Failure{Reason: definitions.ReasonTaken, Message: fmt.Sprintf(
			"%s: CustomResourceDefinition %s belongs to %s, and differs there: it stays as it is", definitions.ReasonTaken, name, where)}
	}
}

// renamed refuses a definition of a kind that the cluster already serves under another plural: the API server would
// not serve it.
func (d *definitionOwners) renamed(name string, owned Definition) *Failure {
	if owned.rule == nil {
		return nil
	}
	for _, gvk := range owned.kinds {
		if kind, ok := d.kinds.Lookup(gvk); ok && kind.GVR.GroupResource().String() != name {
			return &Failure{Reason: definitions.ReasonTaken, Message: fmt.Sprintf(
				"%s: CustomResourceDefinition %s is not created, because %s has the kind %s already: the plural of a kind cannot be changed",
				definitions.ReasonTaken, name, kind.GVR.GroupResource(), gvk.Kind)}
		}
	}
	return nil
}

func (d *definitionOwners) forget(name string) {
	delete(d.owned, name)
	delete(d.applied, name)
	d.asked.Delete(name)
	d.writer.Drop(name)
}

// failure returns why the cluster lacks the definition generated from a rule's schema. It is nil if the cluster has
// the definition or is about to, and if the rule has no schema.
func (d *definitionOwners) failure(rule *syntax.Rule) *Failure {
	if rule.Parent.Definition == nil {
		return nil
	}
	if refused := d.refused[rule]; refused != nil {
		return refused
	}
	name := rule.Parent.Definition.GetName()
	applied, ok := d.applied[name]
	switch {
	case !ok || d.owned[name].rule != rule || applied.Err == nil:
		return nil
	case applied.Refused != nil:
		return applied.Refused
	}
	return &Failure{Message: fmt.Sprintf("waiting for CustomResourceDefinition %s: %v", name, applied.Err)}
}

// hasGroupOf reports whether one of the kinds has the group of a definition.
func hasGroupOf(kinds KindSet, definition string) bool {
	for gvk := range kinds {
		if strings.HasSuffix(definition, "."+gvk.Group) {
			return true
		}
	}
	return false
}

// errs returns what is wrong with definitions beside rules, by the name of the text.
func (d *definitionOwners) errs() map[string]error {
	errs := maps.Clone(d.conflicts)
	for _, name := range slices.Sorted(maps.Keys(d.applied)) {
		text := d.owned[name].Text
		switch applied := d.applied[name]; {
		case applied.Err == nil || d.owned[name].rule != nil:
		case applied.Refused != nil:
			errs[text] = errors.Join(errs[text], errors.New(applied.Refused.Message))
		default:
			errs[text] = errors.Join(errs[text], fmt.Errorf("apply CustomResourceDefinition %s: %w", name, applied.Err))
		}
	}
	return errs
}

// waitsFor describes the first definition of a text that the rules of the text wait for: one that is being applied
// for the first time, or whose kinds the API server does not serve yet. Empty if there is none.
func (d *definitionOwners) waitsFor(text string) string {
	for _, name := range d.ownedBy(text) {
		applied, ok := d.applied[name]
		switch {
		case d.refused[d.owned[name].rule] != nil:
		case !ok:
			return fmt.Sprintf("CustomResourceDefinition %s, which is being applied", name)
		case applied.Err == nil && !d.isServed(name) && d.now.Sub(applied.At) < definitionSettles:
			return fmt.Sprintf("CustomResourceDefinition %s, whose kinds the API server does not serve yet", name)
		}
	}
	return ""
}

// isPending reports whether a definition of a text is being applied or checked, or its kinds are not served yet.
func (d *definitionOwners) isPending(text string) bool {
	return d.waitsFor(text) != "" || d.asked.HasAny(d.ownedBy(text)...)
}

// ownedBy returns the names of the definitions that belong to a text.
func (d *definitionOwners) ownedBy(text string) []string {
	var names []string
	for name, owned := range d.owned {
		if owned.Text == text {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isServed reports whether the API server serves the kinds of a definition as it was last applied.
func (d *definitionOwners) isServed(name string) bool {
	applied := d.applied[name]
	for _, gvk := range d.owned[name].kinds {
		kind, ok := d.kinds.Lookup(gvk)
		of := kind.Definition // zero if Kanon may not watch definitions
		if !ok || of.UID != "" && (of.UID != applied.UID || of.Generation < applied.Generation) {
			return false
		}
	}
	return true
}

// definitionsOf returns the CustomResourceDefinitions of a text, without those of rules that cannot be decoded
// completely.
func definitionsOf(text string, docs *syntax.Documents) ([]Definition, error) {
	var found []Definition
	var errs []error
	rules := make(map[*unstructured.Unstructured]*syntax.Rule)
	for _, rule := range docs.Rules {
		rules[rule.Parent.Definition] = rule
	}
	for _, object := range docs.WholeCRDs() {
		data, err := json.Marshal(object.Object)
		if err != nil {
			errs = append(errs, fmt.Errorf("encode CustomResourceDefinition %s: %w", object.GetName(), err))
			continue
		}
		sum := sha256.Sum256(data)
		found = append(found, Definition{
			Text: text, Object: object.DeepCopy(), Hash: hex.EncodeToString(sum[:8]), rule: rules[object], kinds: servedKinds(object),
		})
	}
	return found, errors.Join(errs...)
}

// servedKinds returns the kinds that a definition serves.
func servedKinds(definition *unstructured.Unstructured) []schema.GroupVersionKind {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	list, _, _ := unstructured.NestedFieldNoCopy(definition.Object, "spec", "versions")
	versions, _ := list.([]any)
	var kinds []schema.GroupVersionKind
	for _, version := range versions {
		fields, _ := version.(map[string]any)
		name, _ := fields["name"].(string)
		if served, _ := fields["served"].(bool); served {
			kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: name, Kind: kind})
		}
	}
	return kinds
}

// definitionsByName groups definitions by name, oldest text first. Files have no creation time, so they come first of
// all.
func definitionsByName(all []Definition) map[string][]Definition {
	found := make(map[string][]Definition)
	for _, d := range slices.SortedStableFunc(slices.Values(all), func(a, b Definition) int {
		return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.Text, b.Text))
	}) {
		found[d.Object.GetName()] = append(found[d.Object.GetName()], d)
	}
	return found
}
