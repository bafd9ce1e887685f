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
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// Loss is something that is wrong with an object that was stored under another schema.
type Loss struct {
	// Path is the field, such as spec.ports[0].name.
	Path string
	Kind LossKind
	// Message is what is wrong, without the value.
	Message string
}

// LossKind is the effect of a loss.
type LossKind int

const (
	// Pruned values are dropped when the API server returns the object, and lost for good when it is written.
	Pruned LossKind = iota
	// WrongType values stay, but do not have the type of the schema. The object can no longer be applied.
	WrongType
	// Blocking mistakes have the API server refuse changes of other fields until somebody corrects them. Some, such as
	// two items with one key, have it refuse applies of the unchanged object.
	Blocking
)

// CheckStored returns what is wrong with an object that is already stored, apart from its status. An object of an unknown
// kind loses nothing. The object is not changed.
//
// The API server accepts an update that leaves a value unchanged, even if the schema no longer allows the value
// ("ratcheting"). So text that no longer matches a pattern is no loss: only a new text has to match. A list without
// keys counts as one value. It is a loss if an update of another field would be refused. That is so for a missing
// required field, because it is a mistake of the mapping around it.
func (kinds Kinds) CheckStored(ctx context.Context, object *unstructured.Unstructured) ([]Loss, error) {
	k := kinds[object.GroupVersionKind()]
	if k == nil {
		return nil, nil
	}
	if err := k.prepare(); err != nil {
		return nil, fmt.Errorf("check %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	object = object.DeepCopy()
	if k.hasStatus {
		delete(object.Object, "status")
	}
	stored := object.DeepCopy().Object
	pruning.Prune(stored, k.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(stored, k.structural)
	defaulting.Default(stored, k.structural)
	losses := missing(object.Object, stored, "")
	losses = append(losses, k.refused(ctx, stored)...)
	slices.SortFunc(losses, func(a, b Loss) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(losses), nil
}

func missing(before, after any, path string) (losses []Loss) {
	switch before := before.(type) {
	case map[string]any:
		after, _ := after.(map[string]any)
		for name, value := range before {
			below := strings.TrimPrefix(path+"."+name, ".")
			if left, ok := after[name]; ok {
				losses = append(losses, missing(value, left, below)...)
			} else {
				losses = append(losses, Loss{Path: below, Kind: Pruned, Message: "the value is dropped"})
			}
		}
	case []any:
		after, _ := after.([]any)
		for i := range min(len(before), len(after)) {
			losses = append(losses, missing(before[i], after[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return losses
}

// refused returns what the schema forbids in an object, if that does more than forbid to set the same value again.
func (k *kind) refused(ctx context.Context, object map[string]any) (losses []Loss) {
	add := func(kind LossKind, errs field.ErrorList) {
		for _, err := range errs {
			losses = append(losses, Loss{Path: pathOf(err), Kind: kind, Message: reasonOf(err)})
		}
	}
	correlated := func() *common.CorrelatedObject {
		return common.NewCorrelatedObject(object, touched(object, k.structural), &model.Structural{Structural: k.structural})
	}
	types, others := split(validation.ValidateCustomResource(nil, object, k.schema))
	add(WrongType, types)
	if len(others) > 0 {
		_, others = split(validation.ValidateCustomResourceUpdate(nil, object, object, k.schema, validation.WithRatcheting(correlated())))
		add(Blocking, others)
	}
	add(Blocking, objectmeta.Validate(ctx, nil, object, k.structural, false))
	add(Blocking, listtype.ValidateListSetsAndMaps(nil, k.structural, object))
	if len(types) == 0 { // expressions would fail at values of the wrong type
		wrong, _ := k.rules.Validate(ctx, nil, k.structural, object, nil, celconfig.RuntimeCELCostBudget, cel.WithRatcheting(correlated()))
		add(Blocking, wrong)
	}
	return losses
}

// split separates errors about types from others. The API server reports a wrong format as a wrong type, too; it counts
// as another error.
func split(errs field.ErrorList) (types, others field.ErrorList) {
	for _, err := range errs {
		if _, _, ok := mismatch(err); ok {
			types = append(types, err)
		} else {
			others = append(others, err)
		}
	}
	return types, others
}

// mismatch returns the type that a value must have, and the one that it has.
func mismatch(err *field.Error) (wanted, is string, ok bool) {
	if err.Type != field.ErrorTypeTypeInvalid {
		return "", "", false
	}
	_, detail, _ := strings.Cut(err.Detail, " in body must be of type ")
	wanted, is, _ = strings.Cut(detail, ": ")
	return wanted, strings.Trim(is, `"`), slices.Contains([]string{"array", "boolean", "integer", "null", "number", "object", "string", "integer,string"}, wanted)
}

// marker is a field that no schema has.
const marker = "\x00touched"

// touched copies a value as if another field of each mapping had changed: each mapping gets one field more, and every
// other value is the same. A list without keys is one value, so its contents stay unchanged.
func touched(value any, s *structuralschema.Structural) any {
	switch value := value.(type) {
	case map[string]any:
		out := maps.Clone(value)
		for name, below := range value {
			if property, ok := s.Properties[name]; ok {
				out[name] = touched(below, &property)
			} else if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
				out[name] = touched(below, s.AdditionalProperties.Structural)
			}
		}
		if len(s.Properties) > 0 {
			out[marker] = true
		}
		return out
	case []any:
		if s.Items == nil || s.XListType == nil || *s.XListType != "map" {
			return value
		}
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = touched(item, s.Items)
		}
		return out
	}
	return value
}

func reasonOf(err *field.Error) string {
	switch err.Type {
	case field.ErrorTypeRequired:
		return "it is required, and missing"
	case field.ErrorTypeDuplicate:
		return "it has the same item twice"
	case field.ErrorTypeTypeInvalid:
		wanted, is, ok := mismatch(err)
		if !ok {
			return "it must have the format " + wanted
		}
		return fmt.Sprintf("it must be of type %s, and is of type %s", wanted, is)
	case field.ErrorTypeTooMany:
		return "it has too many entries"
	case field.ErrorTypeTooLong:
		return "it is too long"
	case field.ErrorTypeNotSupported:
		return "the value is not allowed"
	}
	if found := alternatives.FindStringSubmatch(err.Detail); found != nil {
		return "it " + found[2]
	}
	if _, detail, ok := strings.Cut(err.Detail, " in body "); ok && !strings.Contains(detail, "\n") {
		return "it " + detail
	}
	return "a validation is not true"
}

// alternatives matches the API server's errors for allOf, anyOf, oneOf and not. These errors have the path in the text.
var alternatives = regexp.MustCompile(`^"([^"]*)" (must (?:not )?validate [^:"]*)`)

func pathOf(err *field.Error) string {
	if found := alternatives.FindStringSubmatch(err.Detail); found != nil {
		return found[1]
	}
	return err.Field
}

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
