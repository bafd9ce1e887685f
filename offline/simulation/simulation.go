package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/ending"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/offline/preview"
	"kanon.dev/kanon/rules/program"
	"kanon.dev/kanon/rules/program/parentstatus"
)

// Options configure a simulation. Objects are copied.
type Options struct {
	Program *program.Program
	Parent  *unstructured.Unstructured
	// Objects are the other objects of the cluster.
	Objects []*unstructured.Unstructured
	Now     time.Time
	// TakesConditions reports whether objects of a kind have conditions such as Ready, as those of custom kinds do.
	// nil: all do.
	TakesConditions func(schema.GroupVersionKind) bool
	// HasGeneration reports whether objects of a kind have metadata.generation. nil: all do.
	HasGeneration func(schema.GroupVersionKind) bool
	// Schema is the schema of a kind, by which lists are merged, or nil. nil: no kind has one.
	Schema func(schema.GroupVersionKind) *openapi.Schema
	// HasStatus reports whether a kind has a status subresource. nil: no kind has.
	HasStatus func(schema.GroupVersionKind) bool
	// Default sets the defaults that the API server sets when an object is written. nil: none.
	Default func(*unstructured.Unstructured)
	// Serve converts an object to another version of its kind, and reports whether it did. nil: it never does.
	Serve func(object *unstructured.Unstructured, in schema.GroupVersionKind) bool
	// Check returns an error if the API server would refuse an object. old is the object before an update, or nil. nil:
	// it accepts all.
	Check func(object, old *unstructured.Unstructured) error
	// CheckStatus is Check for a write of the status.
	CheckStatus func(object, old *unstructured.Unstructured) error
}

// Simulation is a cluster in memory with one rule and one parent. It is not safe for concurrent use.
type Simulation struct {
	options Options
	now     time.Time
	// parent is nil once it is deleted.
	parent   *unstructured.Unstructured
	children map[identity.ID]*child
	others   map[identity.ID]*unstructured.Unstructured
	// replaced are children that were deleted to be recreated. The new ones take over their generated values.
	replaced map[identity.ID]*unstructured.Unstructured
	// patches are what patches set at the last evaluation.
	patches []contribution

	// marks are those of the children, policies decide which of these are orphaned, and ordered has the nodes that are
	// deleted in order.
	marks    *mark.Marks
	policies ending.Policies
	ordered  map[string]bool

	// matched is true once the rule has matched the parent, and finalized once spec.finalize is done.
	matched, finalized bool
	// status is the parent's status as the rule rendered it last.
	status  map[string]any
	emitted conditions.Emitted
	// created counts objects (for UIDs), versions counts writes, and addresses counts Services with a cluster IP.
	created, versions, addresses int
	// reevaluateAt is when time alone requires another evaluation; zero: never.
	reevaluateAt time.Time

	events                            []parentstatus.Event
	made, updated, deleted, recreated []identity.ID
	last                              *preview.Preview
}

// child is an object that the rule created.
type child struct {
	preview.Child
	ending program.Ending
}

// State is the state of the cluster after the reconciles that a change causes.
type State struct {
	// Preview is the last evaluation; nil if the rule is not evaluated, as for a parent that is deleted or suspended.
	Preview *preview.Preview
	// Parent is nil once it is deleted.
	Parent *unstructured.Unstructured
	// Children are the children of each node, by kind, namespace and name.
	Children map[string][]*unstructured.Unstructured
	// Objects are all other objects, by kind, namespace and name.
	Objects []*unstructured.Unstructured
	// Events are those emitted since the previous state.
	Events []parentstatus.Event
	// Created, Updated, Deleted and Recreated are the changes since the previous state, in order: children that were
	// created and updated, objects that were deleted, and children that were deleted to be recreated.
	Created, Updated, Deleted, Recreated []identity.ID
	Now                                  time.Time
}

// takesConditions reports whether an object has conditions such as Ready.
func (s *Simulation) takesConditions(object *unstructured.Unstructured) bool {
	return s.options.TakesConditions == nil || s.options.TakesConditions(object.GroupVersionKind())
}

// New makes a simulation. Nothing is evaluated before Settle. The error says why the API server would refuse the parent
// or one of the objects.
func New(o Options) (*Simulation, error) {
	if o.HasGeneration == nil {
		o.HasGeneration = func(schema.GroupVersionKind) bool { return true }
	}
	all := func(_, _ *unstructured.Unstructured) error { return nil }
	if o.Serve == nil {
		o.Serve = func(*unstructured.Unstructured, schema.GroupVersionKind) bool { return false }
	}
	if o.Check == nil {
		o.Check = all
	}
	if o.CheckStatus == nil {
		o.CheckStatus = all
	}
	marks, err := newMarks(o)
	if err != nil {
		return nil, err
	}
	s := &Simulation{
		options: o, now: o.Now.UTC().Truncate(time.Second), parent: o.Parent.DeepCopy(),
		children: map[identity.ID]*child{}, others: map[identity.ID]*unstructured.Unstructured{}, replaced: map[identity.ID]*unstructured.Unstructured{},
		marks: marks, policies: ending.Policies{ByNode: ending.ByNode(o.Program)}, ordered: ending.Ordered(o.Program),
	}
	s.complete(s.parent)
	err = s.check(s.parent, nil)
	o.Serve(s.parent, o.Program.Parent.GVK)
	for _, object := range o.Objects {
		object = object.DeepCopy()
		s.complete(object)
		s.others[identity.Of(object)] = object
		err = errors.Join(err, s.check(object, nil))
	}
	return s, err
}

// complete sets what the API server sets in a new object: metadata, the cluster IP of a Service, the phase of a
// Namespace, and defaults.
func (s *Simulation) complete(object *unstructured.Unstructured) {
	s.created++
	object.Object = fieldset.FoldStringData(object)
	if object.GetUID() == "" {
		object.SetUID(types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", s.created)))
	}
	if object.GetResourceVersion() == "" {
		s.touch(object)
	}
	if object.GetGeneration() == 0 && s.options.HasGeneration(object.GroupVersionKind()) {
		object.SetGeneration(1)
	}
	if at := object.GetCreationTimestamp(); at.IsZero() {
		object.SetCreationTimestamp(metav1.NewTime(s.now))
	}
	if isKind(object, "Service") && object.Object["spec"] != nil {
		if kind, _, _ := unstructured.NestedString(object.Object, "spec", "type"); kind != "ExternalName" {
			s.addresses++
			setDefault(object, fmt.Sprintf(addresses+"%d", s.addresses), "spec", "clusterIP")
		}
	}
	if isKind(object, "Namespace") {
		setDefault(object, "Active", "status", "phase")
	}
	if s.options.Default != nil {
		s.options.Default(object)
	}
}

// addresses is the prefix of the cluster IPs that complete sets.
const addresses = "10.96.0."

// HasGivenAddress reports whether a Service has a cluster IP that a simulation set.
func HasGivenAddress(object *unstructured.Unstructured) bool {
	ip, _, _ := unstructured.NestedString(object.Object, "spec", "clusterIP")
	return isKind(object, "Service") && strings.HasPrefix(ip, addresses)
}

// touch sets a new resourceVersion.
func (s *Simulation) touch(object *unstructured.Unstructured) {
	s.versions++
	object.SetResourceVersion(strconv.Itoa(s.versions))
}

// isKind reports whether an object is of a kind of the core group.
func isKind(object *unstructured.Unstructured, kind string) bool {
	return object.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: kind}
}

// setDefault sets a field unless the object has it.
func setDefault(object *unstructured.Unstructured, value string, path ...string) {
	if _, found, err := unstructured.NestedFieldNoCopy(object.Object, path...); !found && err == nil {
		_ = unstructured.SetNestedField(object.Object, value, path...) // fails if a field on the path is not a mapping
	}
}

// maxReconciles bounds the reconciles that a change may cause. A rollout of a few hundred items takes as many.
const maxReconciles = 1000

// Settle reconciles until nothing changes. It returns an error if that does not end within maxReconciles.
func (s *Simulation) Settle(ctx context.Context) (*State, error) {
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	return s.state(), nil
}

func (s *Simulation) settle(ctx context.Context) error {
	for range maxReconciles {
		changed := s.reconcile(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		if !changed {
			return nil
		}
	}
	return fmt.Errorf("what the rule writes still changes after %d reconciles: it may depend on itself", maxReconciles)
}

// Advance moves the clock forward. It settles whenever the rule is due for another evaluation, by now or requeueAfter.
func (s *Simulation) Advance(ctx context.Context, by time.Duration) error {
	end := s.now.Add(by)
	for range maxReconciles {
		if s.reevaluateAt.IsZero() || s.reevaluateAt.After(end) {
			s.now = end
			return nil
		}
		s.now = s.reevaluateAt
		if err := s.settle(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("the rule asks to be evaluated more than %d times within %s", maxReconciles, by)
}

// Set writes an object as another client would: its fields are laid over the existing object as a JSON merge patch, or
// it is created. The error says why the API server would refuse it.
func (s *Simulation) Set(written *unstructured.Unstructured) error {
	id := identity.Of(written)
	existing := s.find(id)
	if existing == nil {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		Merge(object.Object, written.Object)
		s.complete(object)
		if err := s.check(object, nil); err != nil {
			return err
		}
		s.others[id] = object
		return nil
	}
	return s.write(existing, written.Object)
}

// SetParent is Set for the parent. Its kind and name may be left out.
func (s *Simulation) SetParent(fields map[string]any) error {
	if s.parent == nil {
		return errNoParent
	}
	return s.write(s.parent, fields)
}

// write lays fields over an object, in the version that they name. A changed spec increases the generation.
func (s *Simulation) write(object *unstructured.Unstructured, fields map[string]any) error {
	written, old, stored := object.DeepCopy(), object, object.GroupVersionKind()
	as := &unstructured.Unstructured{Object: fields}
	if version := as.GroupVersionKind(); version.GroupKind() == stored.GroupKind() && s.options.Serve(written, version) {
		old = written.DeepCopy()
	}
	Merge(written.Object, fields)
	written.Object = fieldset.FoldStringData(written)
	if s.options.Default != nil {
		s.options.Default(written)
	}
	if err := s.check(written, old); err != nil {
		return err
	}
	if !s.options.Serve(written, stored) {
		written.SetGroupVersionKind(stored)
	}
	s.noteGeneration(object, written)
	dropEmpty(written, "labels", "annotations", "finalizers", "ownerReferences")
	object.Object = written.Object
	s.touch(object)
	s.collect(object)
	return nil
}

// check returns an error if the API server would refuse an object. old is the object before, or nil. The status is
// checked after the rest, as a client writes it after the rest.
func (s *Simulation) check(written, old *unstructured.Unstructured) error {
	if err := s.options.Check(written, old); err != nil {
		return err
	}
	between := written.DeepCopy()
	if delete(between.Object, "status"); old != nil && old.Object["status"] != nil {
		between.Object["status"] = old.Object["status"]
	}
	if equality.Semantic.DeepEqual(between.Object["status"], written.Object["status"]) {
		return nil
	}
	return s.options.CheckStatus(written, between)
}

// noteGeneration increases the generation if the spec has changed and the object has a generation.
func (s *Simulation) noteGeneration(before, after *unstructured.Unstructured) {
	if generation := before.GetGeneration(); generation > 0 && !equality.Semantic.DeepEqual(before.Object["spec"], after.Object["spec"]) {
		after.SetGeneration(generation + 1)
	}
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

// find is the existing object, or nil.
func (s *Simulation) find(id identity.ID) *unstructured.Unstructured {
	if s.parent != nil && identity.Of(s.parent) == id {
		return s.parent
	}
	if c := s.children[id]; c != nil {
		return c.Object
	}
	return s.others[id]
}

// Select lists the objects that word names: "parent", the id of a child, an item such as job[1], a kind, or KIND/NAME.
// It returns an error if there are none.
func (s *Simulation) Select(word string) ([]*unstructured.Unstructured, error) {
	if word == "parent" {
		if s.parent == nil {
			return nil, errNoParent
		}
		return []*unstructured.Unstructured{s.parent}, nil
	}
	if node, index, ok := ParseItem(word); ok {
		return s.selectItem(word, node, index)
	}
	var found []*unstructured.Unstructured
	kind, name, named := strings.Cut(word, "/")
	for _, c := range s.sortedChildren() {
		if c.Node == word || c.Object.GetKind() == kind && (!named || c.Object.GetName() == name) {
			found = append(found, c.Object)
		}
	}
	for _, object := range sorted(s.others) {
		if object.GetKind() == kind && (!named || object.GetName() == name) {
			found = append(found, object)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no object is %q: write the id of a child, the index of an item behind it as in job[1], a kind, or KIND/NAME%s", word, s.existing())
	}
	return found, nil
}

// existing lists the objects that exist, for an error message.
func (s *Simulation) existing() string {
	var names []string
	for _, c := range s.sortedChildren() {
		names = append(names, c.Object.GetKind()+"/"+c.Object.GetName())
	}
	for _, object := range sorted(s.others) {
		names = append(names, object.GetKind()+"/"+object.GetName())
	}
	const most = 10
	switch {
	case len(names) == 0:
		return "; nothing exists"
	case len(names) > most:
		names = append(names[:most], "…")
	}
	return "; there are " + strings.Join(names, ", ")
}

func (s *Simulation) sortedChildren() []*child {
	return slices.SortedFunc(maps.Values(s.children), func(a, b *child) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), compare(a.Object, b.Object))
	})
}

func sorted(objects map[identity.ID]*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.SortedFunc(maps.Values(objects), compare)
}

func compare(a, b *unstructured.Unstructured) int {
	return cmp.Or(
		strings.Compare(a.GetKind(), b.GetKind()),
		strings.Compare(a.GetNamespace(), b.GetNamespace()),
		strings.Compare(a.GetName(), b.GetName()),
	)
}

// state is the current state, with what happened since it was last asked for.
func (s *Simulation) state() *State {
	state := &State{
		Preview: s.last, Children: map[string][]*unstructured.Unstructured{},
		Events: s.events, Created: s.made, Updated: s.updated, Deleted: s.deleted, Recreated: s.recreated, Now: s.now,
	}
	s.events, s.made, s.updated, s.deleted, s.recreated = nil, nil, nil, nil, nil
	if s.parent != nil {
		state.Parent = s.patched(s.parent)
	}
	for _, c := range s.sortedChildren() {
		state.Children[c.Node] = append(state.Children[c.Node], c.Object.DeepCopy())
	}
	for _, object := range sorted(s.others) {
		state.Objects = append(state.Objects, s.patched(object))
	}
	return state
}
