package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Patches. A patch sets fields of an object that is not ours. What all parents of one patch set in one object is put
// together and applied by one manager, see PatchManager: with a manager for each parent, every write to an object that
// five hundred parents patch took the API server more than a second.

// patchManagers begins the field managers of patches.
const patchManagers = "kanon-patch-"

// PatchManager is the field manager of one patch of a rule, in every object that it is for. A patch's id has at most 63
// characters, so that the name has fewer than the 128 that the API server takes.
func PatchManager(ruleID, patch string) string { return PatchManagers(ruleID) + patch }

// PatchManagers begins the field managers of all patches of a rule.
func PatchManagers(ruleID string) string { return patchManagers + ruleID + "-" }

// Part is what one parent sets in an object.
type Part struct {
	kind  kind
	value *typed.TypedValue
	// paths are those that the part has, without what names an object.
	paths *fieldpath.Set
	// joined are the names of what is put into the joined list of the kind.
	joined []string
	// digest tells parts apart that say different things.
	digest string
}

// Part prepares what a parent sets: object has apiVersion, kind and the fields, and is not changed.
//
// The error is an *InvalidError when the fields do not fit the kind's schema; any other error is worth another try.
func (w *Writer) Part(ctx context.Context, object *unstructured.Unstructured) (*Part, error) {
	part, err := w.part(ctx, object)
	var mismatch *schemaMismatchError
	if !errors.As(err, &mismatch) {
		return part, err
	}
	// As in Prepare.
	changed, recheckErr := w.schemas.Recheck(ctx, object.GroupVersionKind().GroupVersion())
	if recheckErr != nil {
		return nil, fmt.Errorf("recheck the schema of %s: %w", object.GetKind(), recheckErr)
	}
	if changed {
		part, err = w.part(ctx, object)
	}
	if errors.As(err, &mismatch) {
		return nil, &InvalidError{Ref: RefOf(object), Err: mismatch.err}
	}
	return part, err
}

func (w *Writer) part(ctx context.Context, object *unstructured.Unstructured) (*Part, error) {
	gvk := object.GroupVersionKind()
	kind, err := w.kinds.load(ctx, w.schemas, gvk)
	if err != nil {
		return nil, err
	}
	return NewPart(kind, kind.normalise(object, w.hasStatus(gvk)))
}

// NewPart makes a part of an object in its normal form. The error is that it does not fit its schema.
func NewPart(kind kind, object *unstructured.Unstructured) (*Part, error) {
	if err := kind.Validate(object); err != nil {
		return nil, err
	}
	content, names := splitJoined(object)
	value, err := kind.typed(content)
	if err != nil {
		return nil, err
	}
	return newPart(kind, value, names)
}

func newPart(kind kind, value *typed.TypedValue, names []string) (*Part, error) {
	set, err := value.ToFieldSet()
	if err != nil {
		return nil, fmt.Errorf("list the fields of a patch: %w", err)
	}
	p := &Part{kind: kind, value: value, paths: set.Difference(identityPaths()), joined: names}
	if p.digest, err = digest([]any{p.content(), names}); err != nil {
		return nil, fmt.Errorf("hash a patch: %w", err)
	}
	return p, nil
}

// content is the part as an object; read-only.
func (p *Part) content() map[string]any {
	content, _ := p.value.AsValue().Unstructured().(map[string]any)
	return content
}

// Same says whether two parts say the same.
func (p *Part) Same(other *Part) bool { return p.digest == other.digest }

// pathText is a path for messages: as in managedFields, without the dot before it.
func pathText(path fieldpath.Path) string {
	text := path.String()
	if len(text) > 0 && text[0] == '.' {
		return text[1:]
	}
	return text
}

// FieldHeldError says that a field is not taken from another manager.
type FieldHeldError struct {
	// Ref is the object.
	Ref Ref
	// Path is the field, and Manager who has it.
	Path, Manager string
	// Why says why it is not taken.
	Why string
}

func (e *FieldHeldError) Error() string {
	return fmt.Sprintf("%s: %s has another value, of field manager %s; %s", e.Ref, e.Path, e.Manager, e.Why)
}

// HoldsPatch says whether obj holds what a part sets: with its values, and in the entry of manager. It sends no request.
func HoldsPatch(obj *unstructured.Unstructured, manager string, part *Part) bool {
	if planJoin(obj, manager, part.joined).changed {
		return false
	}
	held, _ := patchEntry(obj, manager)
	if part.paths.Empty() {
		return true
	}
	if held == nil || !part.paths.Difference(held).Empty() {
		return false
	}
	return part.inPlace(obj)
}

// inPlace reports whether an object has the values of the part.
func (p *Part) inPlace(obj *unstructured.Unstructured) bool {
	live, err := p.kind.typedLive(obj)
	if err != nil {
		return false // what cannot be compared is applied
	}
	difference, err := p.value.ExtractItems(p.paths, typed.WithAppendKeyFields()).
		Compare(live.ExtractItems(p.paths, typed.WithAppendKeyFields()))
	return err == nil && difference.IsSame()
}

// isHeldAs reports whether a manager that applied these paths with an apiVersion holds exactly the part.
func (p *Part) isHeldAs(version string, held *fieldpath.Set) bool {
	return version == p.kind.version && held.Equals(p.paths)
}

// typedLive is an object of the cluster without managedFields, of which memory has another form; see Compact.
func (k kind) typedLive(obj *unstructured.Unstructured) (*typed.TypedValue, error) {
	content := maps.Clone(obj.Object)
	if metadata, ok := content["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "managedFields")
		content["metadata"] = metadata
	}
	return k.converter.ObjectToTyped(&unstructured.Unstructured{Object: content}, typed.AllowDuplicates)
}

// patchEntry is what a manager of patches holds in an object, whatever the apiVersion that it was applied with; nil when
// it has no entry.
func patchEntry(obj *unstructured.Unstructured, manager string) (*fieldpath.Set, string) {
	var held *fieldpath.Set
	version := ""
	for _, e := range entriesOf(obj) {
		if e.manager != manager || e.operation != operationApply {
			continue
		}
		set, err := e.fields()
		if err != nil {
			set = &fieldpath.Set{} // it is there, and is applied anew
		}
		if held == nil {
			held = set
		} else {
			held = held.Union(set)
		}
		version = e.apiVersion
	}
	return held, version
}

// Patched lists the patches of a rule that hold something in obj, by id.
func Patched(obj *unstructured.Unstructured, ruleID string) []string {
	var ids []string
	prefix := PatchManagers(ruleID)
	for _, e := range entriesOf(obj) {
		if len(e.manager) > len(prefix) && e.manager[:len(prefix)] == prefix && e.operation == operationApply {
			ids = append(ids, e.manager[len(prefix):])
		}
	}
	record, _ := joinedIn(obj)
	for _, managers := range record.Items {
		for _, manager := range managers {
			if id, ok := strings.CutPrefix(manager, prefix); ok && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// Shrinks says whether applying a part (nil: nothing) would take away or change something that the manager holds in obj.
func Shrinks(obj *unstructured.Unstructured, manager string, part *Part) bool {
	var wanted []string
	if part != nil {
		wanted = part.joined
	}
	record, _ := joinedIn(obj)
	if slices.ContainsFunc(record.by(manager), func(name string) bool { return !slices.Contains(wanted, name) }) {
		return true
	}
	held, _ := patchEntry(obj, manager)
	if held == nil || held.Empty() {
		return false
	}
	if part == nil || !held.Difference(part.paths).Empty() {
		return true
	}
	live, err := part.kind.typedLive(obj)
	if err != nil {
		return true
	}
	difference, err := live.ExtractItems(held, typed.WithAppendKeyFields()).
		Compare(part.value.ExtractItems(held, typed.WithAppendKeyFields()))
	return err != nil || !difference.IsSame()
}
