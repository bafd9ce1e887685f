package change

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/kinds/definitions"
)

const (
	// maxNamed bounds the objects that a loss names.
	maxNamed = 5
	// maxGroups bounds the losses that are listed separately.
	maxGroups = 100
)

// Survey finds what objects would lose by a change. Make it with Comparison.Survey.
type Survey struct {
	comparison    *Comparison
	before, after definitions.Kinds
	pairs         []pair
	recomputes    func(manager string) bool
	// defaults are the changes that remove a default.
	defaults []Change

	objects, damaged int
	groups           map[group]*Loss
	// others counts the losses beyond maxGroups.
	others int
}

// pair is the version of an object before and after the change.
type pair struct{ before, after schema.GroupVersionKind }

// group is what losses of several objects share.
type group struct{ path, message, instead string }

// Advice on how to write the definition so that objects lose nothing.
const (
	keepField   = "keep the field, and say in its description that nobody should set it"
	otherField  = "keep the type of the field, and add another field for the new one"
	sameFields  = "give a required field a default, or leave the version as it is, and ask more of the same fields in another one"
	keepDefault = "keep the default"
	keepVersion = "keep the version, with a text in deprecated, until nobody uses it"
	keepServed  = "keep what is served"
)

// instead is the advice that avoids a loss.
func instead(kind definitions.LossKind) string {
	switch kind {
	case definitions.Pruned:
		return keepField
	case definitions.WrongType:
		return otherField
	default:
		return sameFields
	}
}

// Loss is something that objects would lose.
type Loss struct {
	// Text is the loss, such as "spec.color: the value is dropped".
	Text string
	// Names are those of the first objects. Count is the number of all.
	Names []string
	Count int
	// Instead is how to write the definition so that objects do not lose it; empty if there is no advice.
	Instead string
}

func (l Loss) String() string {
	if len(l.Names) == 0 {
		return fmt.Sprintf("%d %s", l.Count, l.Text)
	}
	names := strings.Join(l.Names, ", ")
	if more := l.Count - len(l.Names); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return l.Text + ", in " + names
}

// Survey makes a Survey. Status fields set by managers for which recomputes is true do not count as losses.
func (c *Comparison) Survey(recomputes func(manager string) bool) (*Survey, error) {
	s := &Survey{comparison: c, recomputes: recomputes, groups: make(map[group]*Loss)}
	var err error
	if s.before, s.after, err = c.kinds(); err != nil {
		return nil, err
	}
	s.pairs = c.pairs()
	for _, change := range c.Changes {
		if change.lostDefault != nil {
			s.defaults = append(s.defaults, change)
		}
	}
	// Deeper paths come first.
	slices.SortStableFunc(s.defaults, func(a, b Change) int { return cmp.Compare(len(b.Path), len(a.Path)) })
	return s, nil
}

// pairs returns the versions in which objects are compared: the storage version, and those that are served. If a
// webhook converts, versions other than the one that is read have other fields, and are left out.
func (c *Comparison) pairs() []pair {
	find := func(crd *apiextensionsv1.CustomResourceDefinition, is func(v apiextensionsv1.CustomResourceDefinitionVersion) bool) string {
		if at := slices.IndexFunc(crd.Spec.Versions, is); at >= 0 {
			return crd.Spec.Versions[at].Name
		}
		return ""
	}
	stored := func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage }
	gvk := func(version string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: c.before.Spec.Group, Version: version, Kind: c.before.Spec.Names.Kind}
	}
	found := []pair{{gvk(find(c.before, stored)), gvk(find(c.after, stored))}}
	for _, v := range c.before.Spec.Versions {
		served := find(c.after, func(other apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return other.Name == v.Name && other.Served
		})
		if p := (pair{gvk(v.Name), gvk(served)}); v.Served && served != "" && !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	if conversion := c.before.Spec.Conversion; conversion != nil && conversion.Strategy == apiextensionsv1.WebhookConverter {
		found = slices.DeleteFunc(found, func(p pair) bool { return p.before.Version != c.Objects.Version })
	}
	return found
}

// Add checks an object that was read in the version of Comparison.Objects.
func (s *Survey) Add(ctx context.Context, object *unstructured.Unstructured) error {
	s.objects++
	found := make(map[group]bool)
	object = s.withoutRecomputed(object)
	for _, p := range s.pairs {
		before, err := check(ctx, s.before, object, p.before)
		if err != nil {
			return err
		}
		after, err := check(ctx, s.after, object, p.after)
		if err != nil {
			return err
		}
		for _, loss := range after {
			if !slices.Contains(before, loss) {
				found[group{path: withoutIndices(loss.Path), message: loss.Message, instead: instead(loss.Kind)}] = true
			}
		}
	}
	for _, change := range s.defaults {
		// If the object has the default, a loss inside it is more specific.
		if !hasLossIn(found, change.Path) && hasValue(object.Object, strings.Split(strings.ReplaceAll(change.Path, "[*]", ".*"), "."), change.lostDefault) {
			found[group{path: change.Path, message: "the value may be no more than the default, which goes", instead: keepDefault}] = true
		}
	}
	for _, change := range s.comparison.with(OfUsers) {
		if change.Version == "" || change.Path != "" || !s.gone(change.Version) {
			found[group{message: change.String(), instead: keepServed}] = true
		} else if uses(object, schema.GroupVersion{Group: s.comparison.before.Spec.Group, Version: change.Version}.String()) {
			found[group{message: change.String() + ", and objects were written through it", instead: keepVersion}] = true
		} else {
			found[group{message: change.String() + ", and whoever reads through it fails", instead: keepVersion}] = true
		}
	}
	if len(found) > 0 {
		s.damaged++
	}
	for g := range found {
		s.count(g, object)
	}
	return nil
}

// gone reports whether a version is no longer served.
func (s *Survey) gone(version string) bool {
	return !slices.ContainsFunc(s.comparison.after.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version && v.Served
	})
}

func (s *Survey) count(g group, object *unstructured.Unstructured) {
	loss := s.groups[g]
	if loss == nil {
		if len(s.groups) >= maxGroups {
			s.others++
			return
		}
		loss = &Loss{Text: g.message, Instead: g.instead}
		if g.path != "" {
			loss.Text = g.path + ": " + g.message
		}
		s.groups[g] = loss
	}
	loss.Count++
	if len(loss.Names) < maxNamed {
		name := object.GetName()
		if namespace := object.GetNamespace(); namespace != "" {
			name = namespace + "/" + name
		}
		loss.Names = append(loss.Names, name)
	}
}

// Losses lists what the objects would lose, those of most objects first.
func (s *Survey) Losses() []Loss {
	losses := make([]Loss, 0, len(s.groups))
	for _, loss := range s.groups {
		losses = append(losses, *loss)
	}
	slices.SortFunc(losses, func(a, b Loss) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text)) })
	if s.others > 0 {
		losses = append(losses, Loss{Text: "more", Count: s.others})
	}
	return losses
}

// Counts returns the number of objects, and of those that would lose something.
func (s *Survey) Counts() (objects, damaged int) { return s.objects, s.damaged }

// check returns what is wrong with an object in a version.
func check(ctx context.Context, kinds definitions.Kinds, object *unstructured.Unstructured, as schema.GroupVersionKind) ([]definitions.Loss, error) {
	converted := *object
	converted.Object = maps.Clone(object.Object)
	converted.SetGroupVersionKind(as)
	return kinds.CheckStored(ctx, &converted)
}

// withoutRecomputed copies an object without the status fields that are set again anyway.
func (s *Survey) withoutRecomputed(object *unstructured.Unstructured) *unstructured.Unstructured {
	status, ok := object.Object["status"].(map[string]any)
	if !ok {
		return object
	}
	left := maps.Clone(status)
	for _, entry := range object.GetManagedFields() {
		if !s.recomputes(entry.Manager) || entry.FieldsV1 == nil {
			continue
		}
		for name := range fieldsBelow(entry.FieldsV1.GetRawBytes(), "f:status") {
			delete(left, strings.TrimPrefix(name, "f:"))
		}
	}
	out := *object
	out.Object = maps.Clone(object.Object)
	out.Object["status"] = left
	return &out
}

// uses reports whether an object was written through a version.
func uses(object *unstructured.Unstructured, apiVersion string) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return entry.APIVersion == apiVersion })
}

var index = regexp.MustCompile(`\[[^\]]*\]`)

// withoutIndices returns a path that is the same for all items of a list.
func withoutIndices(path string) string { return index.ReplaceAllString(path, "[*]") }

// hasLossIn reports whether found has a loss at a path or below it.
func hasLossIn(found map[group]bool, path string) bool {
	for g := range found {
		if rest, ok := strings.CutPrefix(g.path, path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// hasValue reports whether value has wanted at a path.
func hasValue(value any, path []string, wanted any) bool {
	if len(path) == 0 {
		return same(value, wanted)
	}
	switch value := value.(type) {
	case map[string]any:
		if path[0] == anyItem {
			for _, below := range value {
				if hasValue(below, path[1:], wanted) {
					return true
				}
			}
			return false
		}
		below, ok := value[path[0]]
		return ok && hasValue(below, path[1:], wanted)
	case []any:
		return path[0] == anyItem && slices.ContainsFunc(value, func(item any) bool { return hasValue(item, path[1:], wanted) })
	}
	return false
}

// fieldsBelow returns the fields below a name in a managedFields entry.
func fieldsBelow(raw []byte, name string) map[string]json.RawMessage {
	var all map[string]json.RawMessage
	var below map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil || json.Unmarshal(all[name], &below) != nil {
		return nil
	}
	return below
}
