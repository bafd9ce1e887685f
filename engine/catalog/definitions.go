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
	// kinds are those that it serves.
	kinds []schema.GroupVersionKind
}

// AppliedDefinition is what came of applying a definition.
type AppliedDefinition struct {
	// Hash is that of the definition.
	Hash string
	Err  error
	At   time.Time
	// UID and Generation are those of the object in the cluster.
	UID        types.UID
	Generation int64
}

// definitionSettles is how long rules wait for the kinds of a definition that was applied.
// Some are never served, for example if another definition has their names.
const definitionSettles = 5 * time.Second

// definitions decides which CustomResourceDefinitions of the texts are to be applied, and
// which rules have to wait for them. If several texts have a definition, it belongs to the
// one that had it first, else to the first by name. None is ever deleted: that would delete
// every object of its kind.
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
// groups with kinds that changed are checked again: one may have been deleted.
func (d *definitions) update(all []Definition, changed KindSet, now time.Time) {
	d.now = now
	for name, applied := range d.writer.Take() {
		if applied.Hash == d.owned[name].Hash {
			d.applied[name] = applied
			d.asked.Delete(name)
		}
	}
	byName := definitionsByName(all)
	d.conflicts = make(map[string]error)
	for name := range d.owned {
		if byName[name] == nil {
			d.forget(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		candidates, before := byName[name], d.owned[name]
		owned := candidates[max(0, slices.IndexFunc(candidates, func(c Definition) bool { return c.Text == before.Text }))]
		for _, c := range candidates {
			if c.Hash != owned.Hash {
				d.conflicts[c.Text] = errors.Join(d.conflicts[c.Text], fmt.Errorf("CustomResourceDefinition %s is already in %s, and differs there", name, owned.Text))
			}
		}
		d.owned[name] = owned
		if before.Hash != owned.Hash {
			delete(d.applied, name)
		} else if !hasGroupOf(changed, name) {
			continue
		}
		d.asked.Insert(name)
		d.writer.Apply(owned)
	}
}

func (d *definitions) forget(name string) {
	delete(d.owned, name)
	delete(d.applied, name)
	d.asked.Delete(name)
	d.writer.Drop(name)
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

// errs has what is wrong with definitions, by the name of the text.
func (d *definitions) errs() map[string]error {
	errs := maps.Clone(d.conflicts)
	for _, name := range slices.Sorted(maps.Keys(d.applied)) {
		if err := d.applied[name].Err; err != nil {
			text := d.owned[name].Text
			errs[text] = errors.Join(errs[text], fmt.Errorf("apply CustomResourceDefinition %s: %w", name, err))
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

// definitionsOf are the CustomResourceDefinitions of a text.
func definitionsOf(text string, objects []*unstructured.Unstructured) ([]Definition, error) {
	var found []Definition
	var errs []error
	for _, object := range objects {
		data, err := json.Marshal(object.Object)
		if err != nil {
			errs = append(errs, fmt.Errorf("encode CustomResourceDefinition %s: %w", object.GetName(), err))
			continue
		}
		sum := sha256.Sum256(data)
		found = append(found, Definition{Text: text, Object: object, Hash: hex.EncodeToString(sum[:8]), kinds: servedKinds(object)})
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

// definitionsByName has the definitions by their names, each in the order of the texts.
func definitionsByName(all []Definition) map[string][]Definition {
	found := make(map[string][]Definition)
	for _, d := range slices.SortedStableFunc(slices.Values(all), func(a, b Definition) int { return cmp.Compare(a.Text, b.Text) }) {
		found[d.Object.GetName()] = append(found[d.Object.GetName()], d)
	}
	return found
}
