package patching

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kanon.dev/kanon/engine/apply/fieldset"
)

// Part is what one parent sets in an object.
type Part struct {
	kind  fieldset.Kind
	value *typed.TypedValue
	// Paths are the paths of the part, without those that identify an object.
	Paths *fieldpath.Set
	// Shared are the names of the items for the kind's shared list.
	Shared []string
	// Digest identifies the content: parts with the same content have the same digest.
	Digest string
}

// NewPart returns the part for an object in its normal form. It fails if the object does not fit its schema.
func NewPart(kind fieldset.Kind, object *unstructured.Unstructured) (*Part, error) {
	if err := kind.Validate(object); err != nil {
		return nil, err
	}
	content, names := splitShared(object)
	value, err := kind.Typed(content)
	if err != nil {
		return nil, err
	}
	return newPart(kind, value, names)
}

func newPart(kind fieldset.Kind, value *typed.TypedValue, names []string) (*Part, error) {
	set, err := value.ToFieldSet()
	if err != nil {
		return nil, fmt.Errorf("list the fields of a patch: %w", err)
	}
	p := &Part{kind: kind, value: value, Paths: set.Difference(fieldset.IdentityPaths()), Shared: names}
	if p.Digest, err = fieldset.Digest([]any{p.AsObject(), names}); err != nil {
		return nil, fmt.Errorf("hash a patch: %w", err)
	}
	return p, nil
}

// AsObject returns the part as an object; read-only.
func (p *Part) AsObject() map[string]any {
	content, _ := p.value.AsValue().Unstructured().(map[string]any)
	return content
}

// Same reports whether two parts have the same content.
func (p *Part) Same(other *Part) bool { return p.Digest == other.Digest }

// IsPatchInPlace reports whether a part is in place in obj: with its values, and in the entry of manager. It sends no
// request.
func IsPatchInPlace(obj *unstructured.Unstructured, manager string, part *Part) bool {
	if PlanSharedList(obj, manager, part.Shared).Changed {
		return false
	}
	held, _ := PatchEntry(obj, manager)
	if part.Paths.Empty() {
		return true
	}
	if held == nil || !part.Paths.Difference(held).Empty() {
		return false
	}
	return part.InPlace(obj)
}

// InPlace reports whether an object has the values of the part.
func (p *Part) InPlace(obj *unstructured.Unstructured) bool {
	live, err := p.kind.TypedLive(obj)
	if err != nil {
		return false // what cannot be compared is applied
	}
	difference, err := p.value.ExtractItems(p.Paths, typed.WithAppendKeyFields()).
		Compare(live.ExtractItems(p.Paths, typed.WithAppendKeyFields()))
	return err == nil && difference.IsSame()
}

// IsOwnedAs reports whether a manager that owns the paths held, in an apiVersion, owns exactly the part.
func (p *Part) IsOwnedAs(version string, held *fieldpath.Set) bool {
	return version == p.kind.Version && held.Equals(p.Paths)
}

// Shrinks reports whether applying a part (nil: nothing) would remove or change something that the manager owns in
// obj.
func Shrinks(obj *unstructured.Unstructured, manager string, part *Part) bool {
	var wanted []string
	if part != nil {
		wanted = part.Shared
	}
	record, _ := SharedListOf(obj)
	if slices.ContainsFunc(record.by(manager), func(name string) bool { return !slices.Contains(wanted, name) }) {
		return true
	}
	held, _ := PatchEntry(obj, manager)
	if held == nil || held.Empty() {
		return false
	}
	if part == nil || !held.Difference(part.Paths).Empty() {
		return true
	}
	live, err := part.kind.TypedLive(obj)
	if err != nil {
		return true
	}
	difference, err := live.ExtractItems(held, typed.WithAppendKeyFields()).
		Compare(part.value.ExtractItems(held, typed.WithAppendKeyFields()))
	return err != nil || !difference.IsSame()
}

// Label returns the value that a part sets a label to, and whether it sets the label; a nil part sets none.
func (p *Part) Label(label string) (string, bool) {
	if !p.SetsLabel(label) {
		return "", false
	}
	value, _, _ := unstructured.NestedString(p.AsObject(), "metadata", "labels", label)
	return value, true
}

// SetsLabel reports whether a part sets a label; a nil part sets none.
func (p *Part) SetsLabel(label string) bool {
	return p != nil && p.Paths.Has(fieldpath.MakePathOrDie("metadata", "labels", label))
}
