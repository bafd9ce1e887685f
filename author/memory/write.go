package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/restmapping/definitions"
)

// request is how an object is written.
type request struct {
	kind    restmapping.Kind
	manager string
	dryRun  bool
	// subresource is status, or empty.
	subresource string
	// unchecked is true if the object was checked already.
	unchecked bool
	// force takes fields from other managers.
	force bool
}

// create creates an object.
func (a *API) create(ctx context.Context, r request, given *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	object := given.DeepCopy()
	if object.GetName() == "" {
		object.SetName(object.GetGenerateName() + rand.String(5))
	}
	object.SetResourceVersion("")
	if r.kind.HasStatus {
		delete(object.Object, "status")
	}
	a.complete(object)
	if err := a.check(ctx, r, object, nil); err != nil {
		return nil, err
	}
	at := refOf(r.kind, object)
	exists := a.Find(r.kind.GVR, at.Namespace, at.Name) != nil
	if exists && !r.dryRun {
		return nil, apierrors.NewAlreadyExists(at.GroupResource, at.Name)
	}
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(r.kind.GVK)
	object, err := a.managed(ctx, r, empty, object)
	if err == nil {
		object, err = a.tried(ctx, r, given, object)
	}
	if err == nil && exists { // an API server checks this last
		err = apierrors.NewAlreadyExists(at.GroupResource, at.Name)
	}
	if err != nil || r.dryRun {
		return object, err
	}
	a.store(at, object)
	a.Writes = append(a.Writes, Write{Created, r.manager, object})
	return object, nil
}

// update replaces an object in the version that it names, if it names one.
func (a *API) update(ctx context.Context, r request, given *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := a.get(r.kind, given.GetNamespace(), given.GetName())
	if err != nil {
		return nil, err
	}
	return a.write(ctx, r, live, given.DeepCopy(), (*API).managed)
}

// patch changes an object.
func (a *API) patch(ctx context.Context, r request, name types.NamespacedName, patchType types.PatchType, data []byte) (*unstructured.Unstructured, error) {
	live, err := a.get(r.kind, name.Namespace, name.Name)
	if err != nil {
		return nil, err
	}
	next := &unstructured.Unstructured{}
	switch patchType {
	case types.ApplyPatchType:
		return a.apply(ctx, r, live, data)
	case types.MergePatchType:
		var fields map[string]any
		if err := utiljson.Unmarshal(data, &fields); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		next = live.DeepCopy()
		Merge(next.Object, fields)
	case types.JSONPatchType:
		steps, err := jsonpatch.DecodePatch(data)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		text, err := json.Marshal(live.Object)
		if err == nil {
			text, err = steps.Apply(text)
		}
		if err == nil {
			err = utiljson.Unmarshal(text, &next.Object)
		}
		if err != nil {
			return nil, apierrors.NewGenericServerResponse(422, "patch", r.kind.GVR.GroupResource(), name.Name, err.Error(), 0, true)
		}
	default:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("patches of type %s are not supported", patchType))
	}
	return a.write(ctx, r, live, next, (*API).managed)
}

// apply is a server-side apply to an object that exists.
func (a *API) apply(ctx context.Context, r request, live *unstructured.Unstructured, data []byte) (*unstructured.Unstructured, error) {
	config := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(data, &config.Object); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := conflict(r, live, config); err != nil {
		return nil, err
	}
	manager, err := a.kinds.manager(ctx, r.kind, r.subresource)
	if err != nil {
		return nil, err
	}
	merged, err := manager.Apply(live.DeepCopy(), config, r.manager, r.force)
	if err != nil {
		var answer apierrors.APIStatus
		if errors.As(err, &answer) {
			return nil, err
		}
		return nil, apierrors.NewInternalError(err)
	}
	next, ok := merged.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the merged object is a %T", merged)
	}
	return a.write(ctx, r, live, next, func(_ *API, _ context.Context, _ request, _, next *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return next, nil
	})
}

// conflict returns an error for a write that is about another object than live, or another version of it.
func conflict(r request, live, next *unstructured.Unstructured) error {
	resource := r.kind.GVR.GroupResource()
	if uid := next.GetUID(); uid != "" && uid != live.GetUID() {
		return apierrors.NewInvalid(r.kind.GVK.GroupKind(), live.GetName(), field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
	}
	if version := next.GetResourceVersion(); version != "" && version != live.GetResourceVersion() {
		return apierrors.NewConflict(resource, live.GetName(), errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

// write stores next in the place of live. manage records who has which fields.
func (a *API) write(
	ctx context.Context, r request, live, next *unstructured.Unstructured,
	manage func(*API, context.Context, request, *unstructured.Unstructured, *unstructured.Unstructured) (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	if err := conflict(r, live, next); err != nil {
		return nil, err
	}
	next = onlyWritten(r, live, next)
	next.Object = fieldset.FoldStringData(next)
	a.kinds.Definitions.Fill(next)
	dropEmpty(next)
	if added := slices.DeleteFunc(next.GetFinalizers(), func(f string) bool { return slices.Contains(live.GetFinalizers(), f) }); live.GetDeletionTimestamp() != nil && len(added) > 0 {
		return nil, apierrors.NewInvalid(r.kind.GVK.GroupKind(), live.GetName(), field.ErrorList{
			field.Forbidden(field.NewPath("metadata", "finalizers"), "no new finalizers can be added if the object is being deleted"),
		})
	}
	if err := a.check(ctx, r, next, live); err != nil {
		return nil, err
	}
	next, err := manage(a, ctx, r, live, next)
	if err != nil || equality.Semantic.DeepEqual(live.Object, next.Object) {
		return next, err
	}
	if generation := live.GetGeneration(); generation > 0 && !a.immediate && !equality.Semantic.DeepEqual(live.Object["spec"], next.Object["spec"]) {
		next.SetGeneration(generation + 1)
	}
	if r.dryRun {
		return next, nil
	}
	if !same(content(live), content(next)) {
		if next, err = a.tried(ctx, r, next, next); err != nil {
			return nil, err
		}
		a.Writes = append(a.Writes, Write{Updated, r.manager, next})
	}
	a.store(refOf(r.kind, next), next)
	a.collect()
	return next, nil
}

// content is an object without what records its versions and who has which fields, and without Kanon's mark.
func content(object *unstructured.Unstructured) map[string]any {
	out := object.DeepCopy()
	out.SetManagedFields(nil)
	out.SetResourceVersion("")
	if _, marked := mark.ReadOwner(out); marked {
		mark.Remove(out)
	}
	return out.Object
}

// onlyWritten returns next with what a request cannot change as in live.
func onlyWritten(r request, live, next *unstructured.Unstructured) *unstructured.Unstructured {
	if r.subresource != "" {
		written := live.DeepCopy()
		copyField(written.Object, next.Object, "status")
		if metadata, ok := written.Object["metadata"].(map[string]any); ok {
			given, _ := next.Object["metadata"].(map[string]any)
			copyField(metadata, given, "managedFields")
		}
		return written
	}
	if r.kind.HasStatus {
		copyField(next.Object, live.Object, "status")
	}
	metadata, _ := next.Object["metadata"].(map[string]any)
	kept, _ := live.Object["metadata"].(map[string]any)
	for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"} {
		copyField(metadata, kept, name)
	}
	return next
}

func copyField(to, from map[string]any, name string) {
	if value, ok := from[name]; ok {
		to[name] = runtime.DeepCopyJSONValue(value)
	} else {
		delete(to, name)
	}
}

// managed returns next with the fields that the manager of a request owns from now on.
func (a *API) managed(ctx context.Context, r request, live, next *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	manager, err := a.kinds.manager(ctx, r.kind, r.subresource)
	if err != nil {
		return nil, err
	}
	updated, err := manager.Update(live.DeepCopy(), next, r.manager)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	object, ok := updated.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the managed object is a %T", updated)
	}
	return object, nil
}

// refusedError is the API's answer to an object that is not valid.
type refusedError struct {
	*apierrors.StatusError
	refusal *definitions.Refusal
}

func (e *refusedError) Error() string { return strings.Join(e.refusal.Reasons, "; ") }

func (e *refusedError) Unwrap() error { return e.refusal }

// check returns an error for an object that an API server would refuse. old is the object before the write, or nil.
func (a *API) check(ctx context.Context, r request, object, old *unstructured.Unstructured) error {
	if r.unchecked {
		return nil
	}
	check := a.kinds.Definitions.CheckObject
	if r.subresource != "" {
		check = a.kinds.Definitions.CheckStatus
	}
	err := check(ctx, object, old)
	refusal, ok := errors.AsType[*definitions.Refusal](err)
	if !ok {
		return err
	}
	answer := apierrors.NewInvalid(r.kind.GVK.GroupKind(), object.GetName(), nil)
	for _, reason := range refusal.Reasons {
		parts := append(strings.SplitN(reason, ": ", 3), "", "")
		cause := metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: parts[0], Message: parts[1] + ": " + parts[2]}
		if parts[1] == "Forbidden" {
			cause.Type = metav1.CauseTypeForbidden
		}
		answer.ErrStatus.Details.Causes = append(answer.ErrStatus.Details.Causes, cause)
	}
	answer.ErrStatus.Message = strings.Join(refusal.Reasons, "; ")
	return &refusedError{answer, refusal}
}

// dropEmpty removes empty maps and lists from the metadata, as the API server does when it stores an object.
func dropEmpty(object *unstructured.Unstructured) {
	metadata, _ := object.Object["metadata"].(map[string]any)
	maps.DeleteFunc(metadata, func(name string, value any) bool {
		values, isMap := value.(map[string]any)
		items, isList := value.([]any)
		return name != "managedFields" && (isMap || isList) && len(values)+len(items) == 0
	})
}

// Merge applies a JSON merge patch (RFC 7386): mappings are merged, and null removes a field.
func Merge(into, patch map[string]any) {
	for name, value := range patch {
		fields, isMap := value.(map[string]any)
		switch below, both := into[name].(map[string]any); {
		case value == nil:
			delete(into, name)
		case isMap:
			if !both {
				below = map[string]any{}
				into[name] = below
			}
			Merge(below, fields)
		default:
			into[name] = runtime.DeepCopyJSONValue(value)
		}
	}
}
