package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// AnnotationTaken remembers, in an object that patches are for, what the fields had that patches took from others, so
// that it can be given back. It is one for all patches of all rules: the first that takes a field writes down what was
// there, and the last that releases it puts that back.
const AnnotationTaken = "kanon.dev/taken"

// takenManager is the field manager of AnnotationTaken, and of values that had no manager before they were taken.
const takenManager = "kanon-taken"

// taken is one field that was taken.
type taken struct {
	// Path has the elements of the path as managedFields write them: f:spec, k:{"name":"web"}.
	Path  []string `json:"path"`
	Value any      `json:"value"`
	// Owner is the field manager; empty where the field had none.
	Owner string `json:"owner,omitempty"`
}

// takenFrom reads AnnotationTaken; what cannot be read is nothing.
func takenFrom(obj *unstructured.Unstructured) []taken {
	text, ok := metaString(obj, "annotations", AnnotationTaken)
	if !ok {
		return nil
	}
	var list []taken
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&list); err != nil {
		return nil
	}
	return list
}

func (t taken) path() (fieldpath.Path, bool) {
	path := make(fieldpath.Path, len(t.Path))
	for i, text := range t.Path {
		element, err := fieldpath.DeserializePathElement(text)
		if err != nil {
			return nil, false
		}
		path[i] = element
	}
	return path, len(path) > 0
}

func newTaken(path fieldpath.Path, val any, owner string) (taken, error) {
	t := taken{Path: make([]string, len(path)), Value: val, Owner: owner}
	for i, element := range path {
		text, err := fieldpath.SerializePathElement(element)
		if err != nil {
			return taken{}, err
		}
		t.Path[i] = text
	}
	return t, nil
}

// take finds the fields of a patch that have another value, which is to be given back later, and remembers them. It
// returns the object as it is then. held is what the patch has already.
func (w *Writer) take(ctx context.Context, p Patch, held *fieldpath.Set) (*unstructured.Unstructured, error) {
	list := takenFrom(p.Object)
	changed := false
	var failed error
	p.Content.paths.Leaves().Iterate(func(path fieldpath.Path) {
		if failed != nil {
			return
		}
		t, err := p.takes(path.Copy(), held.Has(path))
		if t == nil || err != nil {
			failed = err
			return
		}
		// Nobody of ours had the field alone, so what was remembered of it is older.
		list = slices.DeleteFunc(list, func(o taken) bool { return slices.Equal(o.Path, t.Path) })
		list, changed = append(list, *t), true
	})
	if failed != nil {
		return nil, failed
	}
	if !changed || isSecret(p.Object) {
		return p.Object, nil
	}
	return w.writeTaken(ctx, p, list)
}

// takes says what is to be remembered of a field that the patch sets; nil where that is nothing: where the field is not
// there, has this value already, or is the patch's alone.
func (p Patch) takes(path fieldpath.Path, held bool) (*taken, error) {
	there, found := lookUp(p.Object.Object, path)
	wanted, _ := lookUp(p.Content.content(), path)
	if fields, isMap := wanted.(map[string]any); !found || path[len(path)-1].FieldName == nil || isMap && len(fields) == 0 ||
		value.Equals(value.NewValueInterface(there), value.NewValueInterface(wanted)) {
		return nil, nil
	}
	owner, patches := "", false
	for _, name := range ownersOf(p.Object, path) {
		if name == p.Manager {
			continue
		}
		if why := p.keeps(name); why != "" {
			return nil, &FieldHeldError{Ref: RefOf(p.Object), Path: pathText(path), Manager: name, Why: why}
		}
		if strings.HasPrefix(name, patchManagers) {
			patches = true
		} else {
			owner = name
		}
	}
	if owner == "" && (held || patches) {
		return nil, nil // what was there before a patch had the field is remembered
	}
	t, err := newTaken(path, there, owner)
	if err != nil {
		return nil, fmt.Errorf("remember %s of %s: %w", pathText(path), RefOf(p.Object), err)
	}
	return &t, nil
}

func (p Patch) keeps(manager string) string {
	if p.Keeps != nil {
		if why := p.Keeps(manager); why != "" {
			return why
		}
	}
	if p.Refuse {
		return "the patch says conflict: Refuse, so it is left alone"
	}
	return ""
}

func isSecret(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind().Group == "" && obj.GetKind() == "Secret"
}

// writeTaken writes AnnotationTaken, in exactly the version seen.
func (w *Writer) writeTaken(ctx context.Context, p Patch, list []taken) (*unstructured.Unstructured, error) {
	ref := RefOf(p.Object)
	text, err := marshalText(list)
	if err != nil {
		return nil, fmt.Errorf("encode what is taken from %s: %w", ref, err)
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": string(ref.UID), "resourceVersion": p.Object.GetResourceVersion(),
		"annotations": map[string]any{AnnotationTaken: text},
	}})
	if err != nil {
		return nil, fmt.Errorf("encode what is taken from %s: %w", ref, err)
	}
	answer, err := w.resource(p.GVR, ref.Namespace).Patch(ctx, ref.Name, types.MergePatchType, body,
		metav1.PatchOptions{FieldManager: takenManager, FieldValidation: metav1.FieldValidationStrict})
	return answer, refusal("remember what is taken from", ref, err)
}

// giveBack puts back what the patch took and sets no more, unless another patch has the field still, or somebody else
// has it by now. It returns the object as it is then. held is what the patch has.
func (w *Writer) giveBack(ctx context.Context, p Patch, held *fieldpath.Set) (*unstructured.Unstructured, error) {
	var kept, returned []taken
	list := takenFrom(p.Object)
	for _, t := range list {
		path, ok := t.path()
		if !ok {
			continue // nobody knows what it is
		}
		switch ours, others := holdersOf(p.Object, path, p.Manager); {
		case p.Content != nil && p.Content.paths.Has(path), ours:
			kept = append(kept, t)
		case held.Has(path) && !others:
			returned = append(returned, t)
		}
	}
	if len(kept) == len(list) {
		return p.Object, nil
	}
	live := p.Object
	byOwner := map[string][]taken{}
	for _, t := range returned {
		byOwner[t.Owner] = append(byOwner[t.Owner], t)
	}
	if len(byOwner) == 0 {
		byOwner[""] = nil
	}
	for i, owner := range slices.Sorted(maps.Keys(byOwner)) {
		if i > 0 { // the others are remembered until they are given back
			kept = slices.DeleteFunc(kept, func(k taken) bool { return k.Owner == owner && containsPath(byOwner[owner], k) })
		} else {
			for other, list := range byOwner {
				if other != owner {
					kept = append(kept, list...)
				}
			}
		}
		answer, err := w.giveBackTo(ctx, p, live, owner, byOwner[owner], kept)
		if err != nil {
			return nil, err
		}
		live = answer
	}
	return live, nil
}

func containsPath(list []taken, t taken) bool {
	return slices.ContainsFunc(list, func(o taken) bool { return slices.Equal(o.Path, t.Path) })
}

// giveBackTo puts fields back for one owner, whose they are then: in one request, which changes the values, moves the
// ownership from the patch to the owner, and leaves in AnnotationTaken what is kept.
func (w *Writer) giveBackTo(ctx context.Context, p Patch, live *unstructured.Unstructured, owner string, list, kept []taken) (*unstructured.Unstructured, error) {
	ref := RefOf(live)
	if owner == "" {
		owner = takenManager
	}
	operations := []operation{{Op: "replace", Path: "/metadata/resourceVersion", Value: live.GetResourceVersion()}}
	paths := &fieldpath.Set{}
	for _, t := range list {
		path, _ := t.path()
		pointer, ok := pointerTo(live.Object, path)
		if !ok {
			continue // what held it is gone
		}
		operations = append(operations, operation{Op: "add", Path: pointer, Value: t.Value})
		paths.Insert(path)
	}
	annotation := "/metadata/annotations/" + escapePointer(AnnotationTaken)
	if len(kept) == 0 {
		operations = append(operations, operation{Op: "remove", Path: annotation})
	} else {
		text, err := marshalText(kept)
		if err != nil {
			return nil, fmt.Errorf("encode what is taken from %s: %w", ref, err)
		}
		operations = append(operations, operation{Op: "replace", Path: annotation, Value: text})
	}
	if !paths.Empty() {
		entries, err := handedOver(live, p.Manager, owner, paths)
		if err != nil {
			return nil, fmt.Errorf("rewrite managedFields of %s: %w", ref, err)
		}
		operations = append(operations, operation{Op: "replace", Path: "/metadata/managedFields", Value: entries})
	}
	body, err := json.Marshal(operations)
	if err != nil {
		return nil, fmt.Errorf("encode what is given back to %s: %w", ref, err)
	}
	answer, err := w.resource(p.GVR, ref.Namespace).Patch(ctx, ref.Name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: owner})
	if err != nil {
		return nil, refusal("give back what was taken from", ref, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("gave back what was taken", "target", ref.String(), "owner", owner)
	return answer, nil
}

// handedOver is managedFields with paths moved from the manager of a patch to an owner, as if that had updated them. A
// value that is the same as before would otherwise stay the patch's, and go with it.
func handedOver(obj *unstructured.Unstructured, manager, owner string, paths *fieldpath.Set) ([]any, error) {
	var items []any
	given := false
	for _, e := range entriesOf(obj) {
		mine := e.manager == manager && e.operation == operationApply
		theirs := e.manager == owner && e.operation == operationUpdate && e.subresource == "" && e.apiVersion == obj.GetAPIVersion()
		if !mine && !theirs {
			items = append(items, e.item())
			continue
		}
		set, err := e.fields()
		if err != nil {
			return nil, err
		}
		if mine {
			set = set.Difference(paths)
		} else {
			set, given = set.Union(paths), true
		}
		if set.Empty() {
			continue
		}
		item, err := withFields(e, set)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	if given {
		return items, nil
	}
	item, err := withFields(entry{raw: map[string]any{
		"manager": owner, "operation": operationUpdate, "apiVersion": obj.GetAPIVersion(), "fieldsType": "FieldsV1",
		"time": time.Now().UTC().Format(time.RFC3339),
	}}, paths)
	return append(items, item), err
}

// ownersOf lists the managers that have a path, each once.
func ownersOf(obj *unstructured.Unstructured, path fieldpath.Path) []string {
	var owners []string
	for _, e := range entriesOf(obj) {
		set, err := e.fields()
		if err == nil && set.Has(path) && !slices.Contains(owners, e.manager) {
			owners = append(owners, e.manager)
		}
	}
	return owners
}

// holdersOf says whether other patches have a path, and whether others than patches have.
func holdersOf(obj *unstructured.Unstructured, path fieldpath.Path, manager string) (patches, others bool) {
	for _, owner := range ownersOf(obj, path) {
		switch {
		case owner == manager:
		case strings.HasPrefix(owner, patchManagers):
			patches = true
		default:
			others = true
		}
	}
	return patches, others
}

// TakenInVain says whether a value is remembered in obj of a field that no patch has: whoever was about to take it did not
// get to that.
func TakenInVain(obj *unstructured.Unstructured) bool {
	return slices.ContainsFunc(takenFrom(obj), func(t taken) bool {
		path, ok := t.path()
		patched, _ := holdersOf(obj, path, "")
		return !ok || !patched
	})
}

// lookUp is the value at a path of an object.
func lookUp(at any, path fieldpath.Path) (any, bool) {
	for _, element := range path {
		next, _, ok := stepInto(at, element)
		if !ok {
			return nil, false
		}
		at = next
	}
	return at, true
}
