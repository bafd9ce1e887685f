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

	"kanon.dev/kanon/rules/clash"
	"kanon.dev/kanon/rules/syntax"
)

// DefinitionWriter applies CustomResourceDefinitions for somebody who does not wait. It
// tries again if one is refused.
type DefinitionWriter interface {
	// Apply asks for a definition to be as it is in a text.
	Apply(d Definition)
	// Drop forgets a definition.
	Drop(name string)
	// Take returns what was applied since the last call, by the names of the definitions.
	Take() map[string]AppliedDefinition
}

// Definition is a CustomResourceDefinition as a text has it.
type Definition struct {
	// Text names the text.
	Text   string
	Object *unstructured.Unstructured
	// Hash is that of the object.
	Hash string
	// Rule is the rule whose schema the definition is made of; zero for one that is beside rules.
	Rule types.NamespacedName
	// Adopt lets the rule take over a definition that Kanon did not make.
	Adopt bool
	// Confirmed names the changes that may be made although objects lose something.
	Confirmed []string

	// rule is as Rule; nil for a definition beside rules.
	rule *syntax.Rule
	// created is when the origin of the text was created.
	created time.Time
	// kinds are those that it serves.
	kinds []schema.GroupVersionKind
}

// AppliedDefinition is what came of applying a definition.
type AppliedDefinition struct {
	// Hash is that of the definition.
	Hash string
	Err  error
	// Refused is why it is not applied until somebody acts; nil if it is, or another attempt may succeed. Err is set then, too.
	Refused *Failure
	At      time.Time
	// UID and Generation are those of the object in the cluster.
	UID        types.UID
	Generation int64
}

// definitionSettles is how long rules wait for the kinds of a definition that was applied.
// Some are never served, for example if another definition has their names.
const definitionSettles = 5 * time.Second

// definitions decides which CustomResourceDefinitions of the texts are to be applied, and
// which rules have to wait for them. If several texts have a definition, it belongs to the
// one that had it first, else to the oldest, and then to the first by name. None is ever
// deleted: that would delete every object of its kind.
type definitions struct {
	kinds  kindLookup
	writer DefinitionWriter
	// now is the time of the last update.
	now time.Time
	// owned has the definitions as those texts have them to which they belong, by name.
	owned map[string]Definition
	// applied has what came of applying them last, by name.
	applied map[string]AppliedDefinition
	// asked has the names of those that are being applied or checked.
	asked sets.Set[string]
	// conflicts has, by the name of a text, the definitions that belong to another text
	// and differ there.
	conflicts map[string]error
	// refused has the rules whose definition is not even tried, and why. Each update finds
	// them anew, as clashes, which has the lines about rules with a schema for one kind.
	refused map[*syntax.Rule]*Failure
	clashes map[*syntax.Rule][]string
}

func newDefinitions(kinds kindLookup, writer DefinitionWriter) *definitions {
	return &definitions{
		kinds: kinds, writer: writer,
		owned:   make(map[string]Definition),
		applied: make(map[string]AppliedDefinition),
		asked:   make(sets.Set[string]),
	}
}

// update takes in what was applied, and asks for what is new in the texts. Definitions of
// groups with kinds that changed are checked again: one may have been deleted. The texts in
// broken may still have the definitions that they had.
func (d *definitions) update(all []Definition, broken sets.Set[string], changed KindSet, now time.Time) {
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

// ask has a definition applied if it is new, or is to be checked again.
func (d *definitions) ask(name string, owned, before Definition, changed KindSet) {
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

// clash notes that a definition of a text belongs to another one.
func (d *definitions) clash(name string, loser, owner Definition) {
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
			d.clashes[pair[0]] = append(d.clashes[pair[0]], clash.OfSchemas(pair[0], pair[1]).Finding(pair[0]).String())
		}
	}
	if differs {
		d.refused[loser.rule] = &Failure{Reason: reasonTaken, Message: fmt.Sprintf(
			"%s: CustomResourceDefinition %s belongs to %s, and differs there: it stays as it is", reasonTaken, name, where)}
	}
}

// reasonTaken is the reason that package keeper gives if somebody else has a definition.
const reasonTaken = "DefinitionTaken"

// renamed refuses the definition of a kind that the cluster has under another name: the API server would not serve it.
func (d *definitions) renamed(name string, owned Definition) *Failure {
	if owned.rule == nil {
		return nil
	}
	for _, gvk := range owned.kinds {
		if kind, ok := d.kinds.Lookup(gvk); ok && kind.GVR.GroupResource().String() != name {
			return &Failure{Reason: reasonTaken, Message: fmt.Sprintf(
				"%s: CustomResourceDefinition %s is not created, because %s has the kind %s already: the plural of a kind cannot be changed",
				reasonTaken, name, kind.GVR.GroupResource(), gvk.Kind)}
		}
	}
	return nil
}

func (d *definitions) forget(name string) {
	delete(d.owned, name)
	delete(d.applied, name)
	d.asked.Delete(name)
	d.writer.Drop(name)
}

// failure is why the cluster does not have the definition that a rule's schema makes; nil if it has, or is about to, or the rule has
// no schema.
func (d *definitions) failure(rule *syntax.Rule) *Failure {
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

// hasGroupOf tells whether some of the kinds are of the group of a definition.
func hasGroupOf(kinds KindSet, definition string) bool {
	for gvk := range kinds {
		if strings.HasSuffix(definition, "."+gvk.Group) {
			return true
		}
	}
	return false
}

// errs has what is wrong with definitions beside rules, by the name of the text.
func (d *definitions) errs() map[string]error {
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

// waitsFor names the first definition of a text that the rules of the text have to wait
// for: it is being applied for the first time, or the API server is about to serve its
// kinds. Empty: there is none.
func (d *definitions) waitsFor(text string) string {
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

// isPending tells whether a definition of a text is being applied or checked, or its kinds
// are about to be served.
func (d *definitions) isPending(text string) bool {
	return d.waitsFor(text) != "" || d.asked.HasAny(d.ownedBy(text)...)
}

// ownedBy lists the definitions that belong to a text.
func (d *definitions) ownedBy(text string) []string {
	var names []string
	for name, owned := range d.owned {
		if owned.Text == text {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isServed tells whether the API server has the kinds of a definition as it was applied.
func (d *definitions) isServed(name string) bool {
	applied := d.applied[name]
	for _, gvk := range d.owned[name].kinds {
		kind, ok := d.kinds.Lookup(gvk)
		of := kind.Definition // zero if definitions may not be watched
		if !ok || of.UID != "" && (of.UID != applied.UID || of.Generation < applied.Generation) {
			return false
		}
	}
	return true
}

// definitionsOf are the CustomResourceDefinitions of a text. The one of a rule that cannot be decoded whole is not among them.
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

// servedKinds lists the kinds that a definition serves.
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

// definitionsByName has the definitions by their names, each with those of the oldest text first: those of files, which have no time.
func definitionsByName(all []Definition) map[string][]Definition {
	found := make(map[string][]Definition)
	for _, d := range slices.SortedStableFunc(slices.Values(all), func(a, b Definition) int {
		return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.Text, b.Text))
	}) {
		found[d.Object.GetName()] = append(found[d.Object.GetName()], d)
	}
	return found
}
