package change

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// limit is a bound of a value.
type limit struct {
	name string
	// least is true for a lower bound.
	least    bool
	old, now *float64
}

// limits compares the bounds of a value, and clears them in both.
func (w *walk) limits(steps []string, old, now *props) {
	whole := func(n *int64) *float64 {
		if n == nil {
			return nil
		}
		f := float64(*n)
		return &f
	}
	for _, l := range []limit{
		{"minimum", true, old.Minimum, now.Minimum},
		{"maximum", false, old.Maximum, now.Maximum},
		{"minLength", true, whole(old.MinLength), whole(now.MinLength)},
		{"maxLength", false, whole(old.MaxLength), whole(now.MaxLength)},
		{"minItems", true, whole(old.MinItems), whole(now.MinItems)},
		{"maxItems", false, whole(old.MaxItems), whole(now.MaxItems)},
		{"minProperties", true, whole(old.MinProperties), whole(now.MinProperties)},
		{"maxProperties", false, whole(old.MaxProperties), whole(now.MaxProperties)},
	} {
		w.limit(steps, l)
	}
	for _, exclusive := range []struct {
		name     string
		old, now bool
	}{{"exclusiveMinimum", old.ExclusiveMinimum, now.ExclusiveMinimum}, {"exclusiveMaximum", old.ExclusiveMaximum, now.ExclusiveMaximum}} {
		switch {
		case exclusive.now && !exclusive.old:
			w.add(steps, OfObjects, "%s is true", exclusive.name)
		case exclusive.old && !exclusive.now:
			w.add(steps, Harmless, "%s is false", exclusive.name)
		}
	}
	if now.MultipleOf != nil && (old.MultipleOf == nil || *old.MultipleOf != *now.MultipleOf) {
		w.add(steps, OfObjects, "it must be a multiple of %v", *now.MultipleOf)
	} else if old.MultipleOf != nil && now.MultipleOf == nil {
		w.add(steps, Harmless, "it need not be a multiple of %v", *old.MultipleOf)
	}
	for _, s := range []*props{old, now} {
		s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum, s.MultipleOf = nil, nil, false, false, nil
		s.MinLength, s.MaxLength, s.MinItems, s.MaxItems, s.MinProperties, s.MaxProperties = nil, nil, nil, nil, nil, nil
	}
}

func (w *walk) limit(steps []string, l limit) {
	switch {
	case l.old == nil && l.now == nil, l.old != nil && l.now != nil && *l.old == *l.now:
	case l.now == nil:
		w.add(steps, Harmless, "it has no %s, and had %v", l.name, *l.old)
	case l.old == nil:
		w.add(steps, OfObjects, "its %s is %v", l.name, *l.now)
	case l.least == (*l.now > *l.old):
		w.add(steps, OfObjects, "its %s is %v, and was %v", l.name, *l.now, *l.old)
	default:
		w.add(steps, Harmless, "its %s is %v, and was %v", l.name, *l.now, *l.old)
	}
}

// allowed compares the pattern, the format and the allowed values, and clears them in both.
func (w *walk) allowed(steps []string, old, now *props) {
	for _, text := range []struct{ name, old, now string }{{"pattern", old.Pattern, now.Pattern}, {"format", old.Format, now.Format}} {
		switch {
		case text.old == text.now:
		case text.now == "":
			w.add(steps, Harmless, "it has no %s, and had %s", text.name, text.old)
		case text.old == "":
			w.add(steps, OfObjects, "its %s is %s", text.name, text.now)
		default:
			w.add(steps, OfObjects, "its %s is %s, and was %s", text.name, text.now, text.old)
		}
	}
	old.Pattern, now.Pattern, old.Format, now.Format = "", "", "", ""
	w.enum(steps, old.Enum, now.Enum)
	old.Enum, now.Enum = nil, nil
}

// enum compares the allowed values. None means that all are.
func (w *walk) enum(steps []string, old, now []apiextensionsv1.JSON) {
	lacks := func(values, others []apiextensionsv1.JSON) (missing []string) {
		for _, value := range values {
			if !slices.ContainsFunc(others, func(other apiextensionsv1.JSON) bool {
				return equality.Semantic.DeepEqual(valueOf(&value), valueOf(&other))
			}) {
				missing = append(missing, textOf(&value))
			}
		}
		return missing
	}
	gone, added := lacks(old, now), lacks(now, old)
	switch {
	case len(now) == 0 && len(old) > 0:
		w.add(steps, Harmless, "all values are allowed")
	case len(old) == 0 && len(now) > 0:
		w.add(steps, OfObjects, "only these values are allowed: %s", strings.Join(added, ", "))
	case len(gone) > 0:
		w.add(steps, OfObjects, "these values are no longer allowed: %s", strings.Join(gone, ", "))
	case len(added) > 0:
		w.add(steps, Harmless, "these values are allowed: %s", strings.Join(added, ", "))
	}
}

// validations compares the CEL rules, and clears them in both. Their messages are texts for people, and ignored.
func (w *walk) validations(steps []string, old, now *props) {
	lacks := func(rules, others apiextensionsv1.ValidationRules) (missing []string) {
		for _, rule := range rules {
			if !slices.ContainsFunc(others, func(other apiextensionsv1.ValidationRule) bool {
				return other.Rule == rule.Rule && same(other.OptionalOldSelf, rule.OptionalOldSelf)
			}) {
				missing = append(missing, rule.Rule)
			}
		}
		return missing
	}
	for _, rule := range lacks(now.XValidations, old.XValidations) {
		w.add(steps, OfObjects, "it must be true: %s", rule)
	}
	for _, rule := range lacks(old.XValidations, now.XValidations) {
		w.add(steps, Harmless, "it need not be true: %s", rule)
	}
	old.XValidations, now.XValidations = nil, nil
}
