package engine

import (
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
)

// definitions follows the CustomResourceDefinitions that stand beside rules: which are to
// be applied, and how that went. It does no I/O: definitionWrites does. Of two versions of
// one definition that of the text which had it before counts, or else of the first by name.
// None is ever deleted: that would delete every object of its kind. One goroutine owns it.
type definitions struct {
	mapper kindTable
	writes definitionWriter
	// winners has, by the name of a definition, the one that counts.
	winners map[string]definition
	// answers says, by the name of a definition, how it was applied last.
	answers map[string]definitionAnswer
	// asked has the names of those that are being applied or checked.
	asked map[string]bool
	// conflicts has, by the name of a text, definitions that another text has otherwise.
	conflicts map[string]error
}

// definitionWriter applies definitions. One that is refused it tries again.
type definitionWriter interface {
	// apply asks for a definition to be as it stands in a text.
	apply(d definition)
	// drop forgets a definition.
	drop(name string)
	// take returns the answers since the last call, by the names of the definitions.
	take() map[string]definitionAnswer
}

// definition is one CustomResourceDefinition as one text has it.
type definition struct {
	text   string
	object *unstructured.Unstructured
	hash   string
	// kinds are those that it has served.
	kinds []schema.GroupVersionKind
}

// definitionAnswer is what came of applying a definition.
type definitionAnswer struct {
	// hash is that of the definition.
	hash string
	err  error
	at   time.Time
	// uid and generation are those of the object in the cluster.
	uid        types.UID
	generation int64
}

func newDefinitions(mapper kindTable, writes definitionWriter) *definitions {
	return &definitions{
		mapper: mapper, writes: writes,
		winners: make(map[string]definition),
		answers: make(map[string]definitionAnswer),
		asked:   make(map[string]bool),
	}
}

// update takes in what was answered, and asks for what is new in the texts. The definitions
// of groups of which kinds changed are looked at again: one may have been deleted.
func (d *definitions) update(all []definition, changed kindSet) {
	for name, answer := range d.writes.take() {
		if answer.hash == d.winners[name].hash {
			d.answers[name] = answer
			delete(d.asked, name)
		}
	}
	named := byName(all)
	d.conflicts = make(map[string]error)
	for name := range d.winners {
		if named[name] == nil {
			d.forget(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		versions := named[name]
		before := d.winners[name]
		winner := versions[max(0, slices.IndexFunc(versions, func(v definition) bool { return v.text == before.text }))]
		for _, v := range versions {
			if v.hash != winner.hash {
				d.conflicts[v.text] = errors.Join(d.conflicts[v.text], fmt.Errorf("CustomResourceDefinition %s stands in %s already, in another version", name, winner.text))
			}
		}
		d.winners[name] = winner
		if before.hash != winner.hash {
			delete(d.answers, name)
		} else if !changed.hasGroupOf(name) {
			continue
		}
		d.asked[name] = true
		d.writes.apply(winner)
	}
}

func (d *definitions) forget(name string) {
	delete(d.winners, name)
	delete(d.answers, name)
	delete(d.asked, name)
	d.writes.drop(name)
}

// hasGroupOf tells whether a kind of the group of a definition is among some.
func (s kindSet) hasGroupOf(name string) bool {
	for gvk := range s {
		if strings.HasSuffix(name, "."+gvk.Group) {
			return true
		}
	}
	return false
}

// errs says what is wrong with definitions, by the name of the text.
func (d *definitions) errs() map[string]error {
	errs := maps.Clone(d.conflicts)
	for _, name := range slices.Sorted(maps.Keys(d.answers)) {
		if answer := d.answers[name]; answer.err != nil {
			text := d.winners[name].text
			errs[text] = errors.Join(errs[text], fmt.Errorf("apply CustomResourceDefinition %s: %w", name, answer.err))
		}
	}
	return errs
}

// awaited names the first definition of a text that the rules of the text have to wait
// for: one that is being applied for the first time, or whose kinds the API server is about
// to serve. Empty: there is none.
func (d *definitions) awaited(text string) string {
	for _, name := range d.of(text) {
		answer, answered := d.answers[name]
		switch {
		case !answered:
			return fmt.Sprintf("CustomResourceDefinition %s, which is being applied", name)
		case answer.err == nil && !d.isServed(name) && time.Since(answer.at) < definitionSettles:
			return fmt.Sprintf("CustomResourceDefinition %s, whose kinds the API server does not serve yet", name)
		}
	}
	return ""
}

// definitionSettles is how long rules wait for the kinds of a definition that was applied.
// Some are never served, as when another definition has their names.
const definitionSettles = 5 * time.Second

// isBusy tells whether a definition of a text is being applied, or looked at again.
func (d *definitions) isBusy(text string) bool {
	return d.awaited(text) != "" || slices.ContainsFunc(d.of(text), func(name string) bool { return d.asked[name] })
}

// of lists the definitions that count and stand in a text.
func (d *definitions) of(text string) []string {
	var names []string
	for name, winner := range d.winners {
		if winner.text == text {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isServed tells whether the API server has the kinds of a definition as it was answered.
func (d *definitions) isServed(name string) bool {
	answer := d.answers[name]
	for _, gvk := range d.winners[name].kinds {
		kind, ok := d.mapper.Lookup(gvk)
		of := kind.Definition // none where definitions may not be watched
		if !ok || of.UID != "" && (of.UID != answer.uid || of.Generation < answer.generation) {
			return false
		}
	}
	return true
}

// definitionsOf makes of the CustomResourceDefinitions of a text what is compared with those
// of others.
func definitionsOf(text string, objects []*unstructured.Unstructured) ([]definition, error) {
	var found []definition
	var errs []error
	for _, object := range objects {
		data, err := json.Marshal(object.Object)
		if err != nil {
			errs = append(errs, fmt.Errorf("encode CustomResourceDefinition %s: %w", object.GetName(), err))
			continue
		}
		sum := sha256.Sum256(data)
		found = append(found, definition{text: text, object: object, hash: hex.EncodeToString(sum[:8]), kinds: servedKinds(object)})
	}
	return found, errors.Join(errs...)
}

// servedKinds lists the kinds that a definition has served.
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

// byName sorts definitions by their names, and each name's by the texts that hold it.
func byName(all []definition) map[string][]definition {
	found := make(map[string][]definition)
	for _, d := range slices.SortedStableFunc(slices.Values(all), func(a, b definition) int { return strings.Compare(a.text, b.text) }) {
		found[d.object.GetName()] = append(found[d.object.GetName()], d)
	}
	return found
}
