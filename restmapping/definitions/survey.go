package definitions

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	before, after Kinds
	pairs         []pair

	objects, damaged int
	groups           map[group]*SurveyedLoss
	// others counts the losses beyond maxGroups.
	others int
}

// pair is the version of an object before and after the change.
type pair struct{ before, after schema.GroupVersionKind }

type group struct{ path, message, instead string }

// Advice on how to write the definition so that objects lose nothing.
const (
	keepField   = "keep the field, and say in its description that nobody should set it"
	otherField  = "keep the type of the field, and add another field for the new one"
	sameFields  = "give a required field a default, or leave the version as it is, and ask more of the same fields in another one"
	keepVersion = "keep the version, with a text in deprecated, until nobody uses it"
	keepServed  = "keep what is served"
)

func instead(kind LossKind) string {
	switch kind {
	case Pruned:
		return keepField
	case WrongType:
		return otherField
	default:
		return sameFields
	}
}

// SurveyedLoss is something that objects would lose.
type SurveyedLoss struct {
	// Text is the loss, such as "spec.color: the value is dropped".
	Text string
	// Names are those of the first objects. Count is the number of all.
	Names []string
	Count int
	// Instead is how to write the definition so that objects do not lose it; empty if there is no advice.
	Instead string
}

func (l SurveyedLoss) String() string {
	if len(l.Names) == 0 {
		return fmt.Sprintf("%d %s", l.Count, l.Text)
	}
	names := strings.Join(l.Names, ", ")
	if more := l.Count - len(l.Names); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return l.Text + ", in " + names
}

// Survey makes a Survey. Fields of a status do not count as losses: controllers set them again.
func (c *Comparison) Survey() (*Survey, error) {
	s := &Survey{comparison: c, before: Kinds{}, after: Kinds{}, pairs: c.pairs(), groups: make(map[group]*SurveyedLoss)}
	if err := s.before.add(c.before); err != nil {
		return nil, err
	}
	return s, s.after.add(c.after)
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
	for _, p := range s.pairs {
		before, err := checkAs(ctx, s.before, object, p.before)
		if err != nil {
			return err
		}
		after, err := checkAs(ctx, s.after, object, p.after)
		if err != nil {
			return err
		}
		for _, loss := range after {
			if !slices.Contains(before, loss) {
				found[group{path: withoutIndices(loss.Path), message: loss.Message, instead: instead(loss.Kind)}] = true
			}
		}
	}
	for _, change := range s.comparison.with(OfUsers) {
		version := schema.GroupVersion{Group: s.comparison.before.Spec.Group, Version: change.Path[1]}
		switch isGone := len(change.Path) == 2 || change.Path[2] == "served"; {
		case !isGone:
			found[group{message: change.String(), instead: keepServed}] = true
		case uses(object, version.String()):
			found[group{message: change.String() + ", and objects were written through it", instead: keepVersion}] = true
		default:
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

func (s *Survey) count(g group, object *unstructured.Unstructured) {
	loss := s.groups[g]
	if loss == nil {
		if len(s.groups) >= maxGroups {
			s.others++
			return
		}
		loss = &SurveyedLoss{Text: g.message, Instead: g.instead}
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
func (s *Survey) Losses() []SurveyedLoss {
	losses := make([]SurveyedLoss, 0, len(s.groups))
	for _, loss := range s.groups {
		losses = append(losses, *loss)
	}
	slices.SortFunc(losses, func(a, b SurveyedLoss) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text)) })
	if s.others > 0 {
		losses = append(losses, SurveyedLoss{Text: "more", Count: s.others})
	}
	return losses
}

// Counts returns the number of objects, and of those that would lose something.
func (s *Survey) Counts() (objects, damaged int) { return s.objects, s.damaged }

func checkAs(ctx context.Context, kinds Kinds, object *unstructured.Unstructured, as schema.GroupVersionKind) ([]Loss, error) {
	converted := *object
	converted.Object = maps.Clone(object.Object)
	converted.SetGroupVersionKind(as)
	return kinds.CheckStored(ctx, &converted)
}

func uses(object *unstructured.Unstructured, apiVersion string) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return entry.APIVersion == apiVersion })
}

var index = regexp.MustCompile(`\[[^\]]*\]`)

func withoutIndices(path string) string { return index.ReplaceAllString(path, "[*]") }
