package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/restmapping"
)

// API is an API server in memory. Its objects are read-only.
type API struct {
	kinds *Kinds
	now   func() time.Time
	// changed is called for each write. An object that does not exist is nil.
	changed func(resource schema.GroupResource, before, after *unstructured.Unstructured)
	objects map[ref]*unstructured.Unstructured
	// backing may be nil. asked and listed are what it was asked for, and err is its first error.
	backing Backing
	asked   map[ref]bool
	listed  map[selection]bool
	err     error
	// immediate is true if an object that is deleted to be recreated is gone at once, whatever keeps it, if no addresses
	// are given, and if a change is no new generation: what its controller reports still counts.
	immediate bool
	// Writes are what clients and the garbage collector have done, in order.
	Writes []Write
	// asGiven has the objects that were given as being deleted although nothing keeps them. They stay.
	asGiven map[types.UID]bool
	// given is the highest resourceVersion of the objects that were given.
	given int
	// versions counts writes, created objects, and addresses Services with an address.
	versions, created, addresses int
}

// ref identifies an object.
type ref struct {
	schema.GroupResource
	types.NamespacedName
}

// Action is what was done to an object.
type Action uint8

// The actions.
const (
	Created Action = iota + 1
	Updated
	Deleted
	// Recreated is a deletion whose dependents go first, as Kanon deletes objects to recreate them.
	Recreated
	// Removed: the object no longer exists.
	Removed
)

// Write is one thing that was done to an object: by a client, or by the garbage collector, whose Manager is empty.
type Write struct {
	Action
	Manager string
	// Object is the object after the write, or before its deletion.
	Object *unstructured.Unstructured
}

func newAPI(kinds *Kinds, now func() time.Time) *API {
	return &API{kinds: kinds, now: now, objects: make(map[ref]*unstructured.Unstructured), asked: make(map[ref]bool), listed: make(map[selection]bool), asGiven: make(map[types.UID]bool)}
}

func refOf(kind restmapping.Kind, object *unstructured.Unstructured) ref {
	return ref{kind.GVR.GroupResource(), types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}}
}

// kindOf returns the kind of an object.
func (a *API) kindOf(object *unstructured.Unstructured) (restmapping.Kind, error) {
	kind, ok := a.kinds.Mapper.Lookup(object.GroupVersionKind())
	if !ok {
		return kind, fmt.Errorf("the API has no kind %s", object.GroupVersionKind())
	}
	return kind, nil
}

// Version grows with each change.
func (a *API) Version() int { return a.versions }

// Backing is a cluster whose objects an API shows until they are written. It is asked for each once.
type Backing interface {
	// Get returns an object; nil if it does not exist.
	Get(gvr schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error)
	// List returns the objects that a selector selects, in one namespace or, if that is empty, in all.
	List(gvr schema.GroupVersionResource, namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error)
}

// Trier is a Backing that shows, by dry runs, what its API server makes of writes.
type Trier interface {
	// Try returns the object as the API server would store it. nil leaves that to the API in memory.
	Try(ctx context.Context, a Attempt) (*unstructured.Unstructured, error)
}

// Attempt is a write by a manager, after which an object is as Object.
type Attempt struct {
	GVR         schema.GroupVersionResource
	Manager     string
	Subresource string
	Object      *unstructured.Unstructured
}

// tried returns what the API server of the Backing makes of next, which a request writes. Without a Trier, that is next.
func (a *API) tried(ctx context.Context, r request, sent, next *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	trier, ok := a.backing.(Trier)
	if !ok {
		return next, nil
	}
	answer, err := trier.Try(ctx, Attempt{GVR: r.kind.GVR, Manager: r.manager, Subresource: r.subresource, Object: sent})
	if answer == nil || err != nil {
		return next, err
	}
	if generation := next.GetGeneration(); generation > 0 {
		answer.SetGeneration(generation)
	}
	return answer, nil
}

// selection is what a Backing was asked for.
type selection struct {
	schema.GroupVersionResource
	namespace, selector string
}

// Find implements watch.Source.
func (a *API) Find(gvr schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	at := ref{gvr.GroupResource(), types.NamespacedName{Namespace: namespace, Name: name}}
	if a.backing != nil && !a.asked[at] && name != "" {
		a.asked[at] = true
		object, err := a.backing.Get(gvr, namespace, name)
		if a.err = cmp.Or(a.err, err); object != nil {
			a.objects[at] = object
		}
	}
	return a.objects[at]
}

// Select implements watch.Source.
func (a *API) Select(gvr schema.GroupVersionResource, namespace string, selector labels.Selector) []*unstructured.Unstructured {
	of := selection{gvr, namespace, selector.String()}
	if a.backing != nil && !a.listed[of] {
		a.listed[of] = true
		objects, err := a.backing.List(gvr, namespace, selector)
		a.err = cmp.Or(a.err, err)
		for _, object := range objects {
			at := ref{gvr.GroupResource(), types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}}
			if !a.asked[at] {
				a.asked[at], a.objects[at] = true, object
			}
		}
	}
	var found []*unstructured.Unstructured
	for at, object := range a.objects {
		if at.GroupResource == gvr.GroupResource() && (namespace == "" || namespace == at.Namespace) && selector.Matches(labels.Set(object.GetLabels())) {
			found = append(found, object)
		}
	}
	slices.SortFunc(found, compare)
	return found
}

// Served implements watch.Source.
func (a *API) Served(object *unstructured.Unstructured, gvr schema.GroupVersionResource) *unstructured.Unstructured {
	kind, ok := a.kinds.byResource[gvr]
	if !ok || kind.GVK == object.GroupVersionKind() {
		return object
	}
	return a.served(object, kind.GVK)
}

func (a *API) served(object *unstructured.Unstructured, gvk schema.GroupVersionKind) *unstructured.Unstructured {
	if object.GroupVersionKind() == gvk {
		return object
	}
	served := object.DeepCopy()
	if !a.kinds.Definitions.Serve(served, gvk) {
		served.SetGroupVersionKind(gvk)
	}
	return served
}

// All lists all objects, by kind, namespace and name.
func (a *API) All() []*unstructured.Unstructured {
	all := make([]*unstructured.Unstructured, 0, len(a.objects))
	for _, object := range a.objects {
		all = append(all, object)
	}
	slices.SortFunc(all, compare)
	return all
}

func compare(a, b *unstructured.Unstructured) int {
	return cmp.Or(
		strings.Compare(a.GetKind(), b.GetKind()), strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()),
	)
}

// get returns an object in a version.
func (a *API) get(kind restmapping.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	object := a.Find(kind.GVR, namespace, name)
	if object == nil {
		return nil, apierrors.NewNotFound(kind.GVR.GroupResource(), name)
	}
	return a.Served(object, kind.GVR), nil
}

// load adds an object as it was given, with what an API server sets in every object.
func (a *API) load(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	kind, err := a.kindOf(object)
	if err != nil {
		return nil, err
	}
	object = object.DeepCopy()
	if version, err := strconv.Atoi(object.GetResourceVersion()); err == nil {
		a.given = max(a.given, version)
	}
	completeEntries(object)
	a.complete(object)
	a.asGiven[object.GetUID()] = object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0
	a.store(refOf(kind, object), object)
	return object, nil
}

// completeEntries fills in what an API server always has in an entry of managedFields.
func completeEntries(object *unstructured.Unstructured) {
	metadata, _ := object.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, item := range entries {
		if entry, ok := item.(map[string]any); ok {
			for field, value := range map[string]string{"apiVersion": object.GetAPIVersion(), "fieldsType": "FieldsV1", "operation": "Update"} {
				if entry[field] == nil {
					entry[field] = value
				}
			}
		}
	}
}

// store replaces an object; nil removes it. It does not change the version of an object that has one.
func (a *API) store(at ref, object *unstructured.Unstructured) {
	before := a.objects[at]
	a.asked[at] = true
	a.versions++
	if object == nil {
		delete(a.objects, at)
	} else {
		if before != nil || object.GetResourceVersion() == "" {
			object.SetResourceVersion(strconv.Itoa(a.given + a.versions))
		}
		a.objects[at] = object
	}
	if a.changed != nil {
		a.changed(at.GroupResource, before, object)
	}
}

// Normalised returns a rendered object in the form in which the engine writes it, without its marks.
func (a *API) Normalised(ctx context.Context, rendered *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	gvk := rendered.GroupVersionKind()
	kind, err := a.kinds.Typed(ctx, gvk)
	if err != nil {
		return nil, err
	}
	return kind.Normalise(rendered, a.kinds.hasStatus(gvk)), nil
}

// complete sets what the API server sets in a new object: metadata, the address of a Service, the phase of a Namespace,
// and defaults.
func (a *API) complete(object *unstructured.Unstructured) {
	a.created++
	object.Object = fieldset.FoldStringData(object)
	if object.GetUID() == "" {
		object.SetUID(uid(a.created))
	}
	if object.GetGeneration() == 0 && a.kinds.hasGeneration(object.GroupVersionKind()) {
		object.SetGeneration(1)
	}
	if at := object.GetCreationTimestamp(); at.IsZero() {
		object.SetCreationTimestamp(metav1.NewTime(a.now()))
	}
	if isCore(object, "Service") && object.Object["spec"] != nil && !a.immediate {
		if kind, _, _ := unstructured.NestedString(object.Object, "spec", "type"); kind != "ExternalName" {
			a.addresses++
			setDefault(object, fmt.Sprintf(addresses+"%d", a.addresses), "spec", "clusterIP")
		}
	}
	if isCore(object, "Namespace") {
		setDefault(object, "Active", "status", "phase")
	}
	a.kinds.Definitions.Fill(object)
}

// uid is the UID of the n-th object.
func uid(n int) types.UID { return types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", n)) }

// addresses is the prefix of the addresses that complete sets.
const addresses = "10.96.0."

// HasGivenAddress reports whether a Service has an address that an API in memory set.
func HasGivenAddress(object *unstructured.Unstructured) bool {
	ip, _, _ := unstructured.NestedString(object.Object, "spec", "clusterIP")
	return isCore(object, "Service") && strings.HasPrefix(ip, addresses)
}

// isCore reports whether an object is of a kind of the core group.
func isCore(object *unstructured.Unstructured, kind string) bool {
	return object.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: kind}
}

// setDefault sets a field unless the object has it.
func setDefault(object *unstructured.Unstructured, value string, path ...string) {
	if _, found, err := unstructured.NestedFieldNoCopy(object.Object, path...); !found && err == nil {
		_ = unstructured.SetNestedField(object.Object, value, path...) // fails if a field on the path is not a mapping
	}
}
