package memory

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/identity"
	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/engine/operator"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/reconcile"
	"kanon.dev/kanon/restmapping"
	"kanon.dev/kanon/rules/program"
)

// Options are what a Cluster begins with. Objects are only read.
type Options struct {
	Kinds   *Kinds
	Program *program.Program
	Parent  *unstructured.Unstructured
	// Objects are the other objects. An object is a child of the parent if its mark says so, or if the parent is its
	// controller. Marks count without a proof. If the parent has no UID, it gets the one by which they refer to it.
	Objects []*unstructured.Unstructured
	Now     time.Time
	// Backing has further objects; it may be nil. Alone is true if the rule's other parents do not count, and if what is
	// recreated is gone at once, whatever keeps it: for Reconcile.
	Backing Backing
	Alone   bool
	// Former are the kinds of children that the rule had.
	Former []schema.GroupVersionKind
	// Namespace is Kanon's own. Default: that of the engine.
	Namespace string
}

// Cluster is an API in memory with an engine that runs one rule.
type Cluster struct {
	API   *API
	local *engine.Local
	clock *stopped
	key   queue.Key
	kind  restmapping.Kind
	// last has the last reconcile of each parent that has had one.
	last map[queue.Key]*reconcile.Observed
	// Given is the parent as it was at first.
	Given *unstructured.Unstructured
	// given are the objects of Options as they refer to the parent.
	given []*unstructured.Unstructured
	// rendered are the Events that the rule has rendered.
	rendered map[program.Event]bool
	// Events are the Events of the rule about its parents.
	Events []Event
}

// Event is an Event that was emitted.
type Event struct {
	About                 runtime.Object
	Type, Reason, Message string
}

// stopped is a clock that its owner moves.
type stopped struct{ time time.Time }

func (c *stopped) Now() time.Time                  { return c.time }
func (c *stopped) Since(t time.Time) time.Duration { return c.time.Sub(t) }

var _ clock.PassiveClock = (*stopped)(nil)

// New makes a Cluster. Nothing is reconciled yet. The error joins the *definitions.Refusal of each object that the API
// server would refuse.
func New(ctx context.Context, o Options) (*Cluster, error) {
	c := &Cluster{
		clock: &stopped{o.Now.UTC().Truncate(time.Second)},
		last:  make(map[queue.Key]*reconcile.Observed), rendered: make(map[program.Event]bool),
	}
	c.API = newAPI(o.Kinds, c.clock.Now)
	c.API.immediate = o.Alone
	var err error
	secret := sha256.Sum256([]byte("simulation"))
	keys, err := keyring.Of(secret[:])
	if err != nil {
		return nil, fmt.Errorf("make a key for marks: %w", err)
	}
	c.local, err = engine.NewLocal(engine.LocalOptions{
		Options: engine.Options{
			Client: client{c.API}, Mapper: o.Kinds.Mapper, Schemas: o.Kinds.Schemas, Recorder: recorder{c}, Namespace: o.Namespace, Clock: c.clock,
		},
		Source: c.API, Program: o.Program, Keys: keys, Former: o.Former, Observe: c.observe,
	})
	if err != nil {
		return nil, err
	}
	c.kind = c.local.Plan().Parent
	parent := o.Parent.DeepCopy()
	objects := tied(c.local.Plan(), parent, o.Objects)
	if o.Alone && parent.GetDeletionTimestamp() != nil && o.Program.Finalize != nil {
		name, _ := c.local.Plan().Finalizer() // otherwise it would be too late to finalize it
		parent.SetFinalizers(append(parent.GetFinalizers(), name))
	}
	refused := c.check(ctx, parent, nil)
	c.given = objects
	if parent, err = c.API.load(c.API.served(parent, c.kind.GVK)); err != nil {
		return nil, err
	}
	c.Given = parent
	c.key = c.local.Key(types.NamespacedName{Namespace: parent.GetNamespace(), Name: parent.GetName()})
	for _, object := range objects {
		refused = errors.Join(refused, c.check(ctx, object, nil))
		if _, err := c.API.load(object); err != nil {
			return nil, err
		}
	}
	c.API.backing = o.Backing
	if !o.Alone {
		parent = nil
	}
	c.local.Start(parent)
	c.API.changed = c.local.Deliver
	return c, refused
}

// check returns a *definitions.Refusal for an object that the API server would refuse. The status is checked after the
// rest, as a client writes it after the rest.
func (c *Cluster) check(ctx context.Context, written, old *unstructured.Unstructured) error {
	known := c.API.kinds.Definitions
	if err := known.CheckObject(ctx, written, old); err != nil {
		return err
	}
	between := written.DeepCopy()
	if old == nil {
		delete(between.Object, "status")
	} else {
		copyField(between.Object, old.Object, "status")
	}
	if same(between.Object["status"], written.Object["status"]) {
		return nil
	}
	return known.CheckStatus(ctx, written, between)
}

func same(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }

// For returns the cluster with another parent in the place of the one that New got. It has the Events until now.
func (c *Cluster) For(parent types.NamespacedName) *Cluster {
	other := *c
	other.key = c.local.Key(parent)
	return &other
}

// observe keeps what a reconcile of a parent found.
func (c *Cluster) observe(pass reconcile.Observed) {
	if pass.Evaluation == nil {
		return
	}
	c.last[pass.Key] = &pass
	for _, event := range pass.Result.Events {
		c.rendered[program.Event{Reason: event.Reason, Message: event.Message}] = true
	}
}

// Last returns the last reconcile of the parent that evaluated the rule; nil if there was none, or if the parent no longer
// exists or is suspended.
func (c *Cluster) Last() *reconcile.Observed {
	if parent := c.Parent(); parent == nil || conditions.IsSuspended(parent) {
		return nil
	}
	return c.last[c.key]
}

// Parent returns the parent; nil once it is deleted.
func (c *Cluster) Parent() *unstructured.Unstructured {
	parent := c.API.Find(c.kind.GVR, c.key.Parent.Namespace, c.key.Parent.Name)
	if parent == nil {
		return nil
	}
	return c.API.served(parent, c.kind.GVK)
}

// IsParent reports whether an object is the parent, or was.
func (c *Cluster) IsParent(object *unstructured.Unstructured) bool {
	kind, err := c.API.kindOf(object)
	return err == nil && refOf(kind, object) == ref{c.kind.GVR.GroupResource(), c.key.Parent}
}

// Newest returns the state of an object now; nil if it does not exist any more.
func (c *Cluster) Newest(object *unstructured.Unstructured) *unstructured.Unstructured {
	kind, err := c.API.kindOf(object)
	if err != nil {
		return nil
	}
	return c.API.objects[refOf(kind, object)]
}

// Owner returns for which node of the parent an object was created; ok is false for any other object.
func (c *Cluster) Owner(object *unstructured.Unstructured) (node string, ok bool) {
	owner, marked := mark.ReadOwner(object)
	parent := types.NamespacedName{Namespace: owner.Parent.Namespace, Name: owner.Parent.Name}
	if !marked || owner.RuleID != c.key.Rule || parent.Name != "" && parent != c.key.Parent {
		return "", false
	}
	return owner.Node, true
}

// Unmarked returns the given objects that belong to the parent by an owner reference and have no mark, each with the mark
// of the node that a pass renders it for.
func (c *Cluster) Unmarked(ctx context.Context, pass Pass) (map[identity.ID]*unstructured.Unstructured, error) {
	found := make(map[identity.ID]*unstructured.Unstructured)
	if pass.Observed == nil {
		return found, nil
	}
	nodes := make(map[identity.ID]string)
	for _, node := range pass.Nodes {
		for _, object := range slices.Concat(node.Objects, node.Kept) {
			nodes[identity.Of(object)] = node.Node
		}
	}
	for _, object := range c.given {
		node, ok := nodes[identity.Of(object)]
		if _, marked := mark.ReadOwner(object); !ok || marked || !metav1.IsControlledBy(object, pass.Parent) {
			continue
		}
		with, err := c.local.Marked(ctx, pass.Parent, node, object)
		if err != nil {
			return nil, err
		}
		found[identity.Of(object)] = with
	}
	return found, nil
}

// Now is the time of the cluster.
func (c *Cluster) Now() time.Time { return c.clock.time }

// Pass is what a reconcile of the parent would do.
type Pass struct {
	// Observed is the reconcile that rendered everything; nil if the rule is not evaluated for the parent. Reported is the
	// one that reported its status, which may be a later one.
	*reconcile.Observed
	Reported *reconcile.Observed
	// Recreated are the objects that were deleted to be recreated before, and why. They do not exist before the pass.
	Recreated map[identity.ID]string
	// Changed are the objects that existed before and were changed in place.
	Changed map[identity.ID]bool
}

// Reconcile reconciles the parent once, and again after each deletion of what is recreated, and the targets of its
// patches until its status is reported.
func (c *Cluster) Reconcile(ctx context.Context) (Pass, error) {
	pass := Pass{Recreated: make(map[identity.ID]string), Changed: make(map[identity.ID]bool)}
	for range maxSteps {
		delete(c.last, c.key)
		k, ok, err := c.local.Step(ctx)
		if err = errors.Join(err, c.API.err, ctx.Err()); err != nil || !ok {
			return pass, err
		}
		if k != c.key {
			continue
		}
		last := c.last[c.key]
		if last != nil && pass.Reported == nil && pass.note(last) {
			c.local.Enqueue(c.key)
			continue
		}
		hadReported := pass.Reported != nil
		pass.Reported = last
		if last == nil || len(last.Result.Patches) == 0 || hadReported {
			break
		}
	}
	return pass, nil
}

// note adds what a reconcile wrote, and reports whether it deleted an object to recreate it.
func (p *Pass) note(last *reconcile.Observed) (recreates bool) {
	p.Observed = last
	for _, w := range last.Writes {
		id := identity.Of(w.Object)
		if w.Recreated != "" {
			p.Recreated[id], recreates = w.Recreated, true
		}
		if w.Before != nil && w.Live != nil && w.Before.GetResourceVersion() != w.Live.GetResourceVersion() {
			p.Changed[id] = true
		}
	}
	return recreates
}

// maxSteps bounds the reconciles that a change may cause. A rollout of a few hundred items takes as many.
const maxSteps = 1000

// Settle reconciles until nothing changes. It returns an error if that does not end.
func (c *Cluster) Settle(ctx context.Context) error {
	for retried := -1; retried != c.API.Version(); {
		retried = c.API.Version()
		for steps := 0; ; steps++ {
			_, ok, err := c.local.Step(ctx)
			if err = errors.Join(err, ctx.Err()); err != nil {
				return err
			}
			if steps > maxSteps {
				return fmt.Errorf("what the rule writes still changes after %d reconciles: it may depend on itself", maxSteps)
			}
			if !ok {
				break
			}
		}
		if !c.local.Retry() {
			break
		}
	}
	return c.loop()
}

// loop returns an error if the engine has found that what the rule writes leads to the next write, without an end.
func (c *Cluster) loop() error {
	for _, last := range c.last {
		for _, of := range last.Problems {
			if of.Reason == conditions.ReasonLoop {
				return fmt.Errorf("what the rule writes still changes: %s", of)
			}
		}
	}
	return nil
}

// Advance moves the clock forward. It settles whenever something is due by then.
func (c *Cluster) Advance(ctx context.Context, by time.Duration) error {
	end := c.clock.time.Add(by)
	for range maxSteps {
		due := c.local.Due()
		if due.IsZero() || due.After(end) {
			c.clock.time = end
			return nil
		}
		c.clock.time = due
		if err := c.Settle(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("the rule asks to be evaluated more than %d times within %s", maxSteps, by)
}

// otherManager is the field manager of changes by Set.
const otherManager = "test"

// Set writes an object as another client would: its fields are laid over the existing object as a JSON merge patch, or
// it is created. The error says why the API server would refuse it.
func (c *Cluster) Set(ctx context.Context, written *unstructured.Unstructured) error {
	kind, err := c.API.kindOf(written)
	if err != nil {
		return err
	}
	live := c.API.Find(kind.GVR, written.GetNamespace(), written.GetName())
	if live != nil {
		return c.change(ctx, live, written.Object)
	}
	object := &unstructured.Unstructured{Object: map[string]any{}}
	Merge(object.Object, written.Object)
	c.API.kinds.Definitions.Fill(object)
	if err := c.check(ctx, object, nil); err != nil {
		return err
	}
	return c.put(ctx, kind, nil, object)
}

// ErrNoParent reports that the parent no longer exists.
var ErrNoParent = errors.New("the parent does not exist any more")

// SetParent is Set for the parent. Its kind and name may be left out.
func (c *Cluster) SetParent(ctx context.Context, fields map[string]any) error {
	parent := c.Parent()
	if parent == nil {
		return ErrNoParent
	}
	return c.change(ctx, parent, fields)
}

// SetStatus replaces fields of the status of an object, as its controller would.
func (c *Cluster) SetStatus(ctx context.Context, object *unstructured.Unstructured, fields map[string]any) error {
	written := object.DeepCopy()
	Merge(written.Object, map[string]any{"status": fields})
	kind, err := c.API.kindOf(written)
	if err != nil {
		return err
	}
	return c.put(ctx, kind, object, written)
}

// change lays fields over an object, in the version that they name.
func (c *Cluster) change(ctx context.Context, live *unstructured.Unstructured, fields map[string]any) error {
	stored, old := live.GroupVersionKind(), live
	if version := (&unstructured.Unstructured{Object: fields}).GroupVersionKind(); version.Kind != "" && version.GroupKind() == stored.GroupKind() {
		old = c.API.served(live, version)
	}
	written := old.DeepCopy()
	Merge(written.Object, fields)
	c.API.kinds.Definitions.Fill(written)
	if err := c.check(ctx, written, old); err != nil {
		return err
	}
	kind, err := c.API.kindOf(live)
	if err != nil {
		return err
	}
	return c.put(ctx, kind, live, c.API.served(written, stored))
}

// put stores an object that was checked, in the place of before, which may be nil: first all of it but the status, and then
// the status.
func (c *Cluster) put(ctx context.Context, kind restmapping.Kind, before, object *unstructured.Unstructured) error {
	status, hasStatus := object.Object["status"]
	r := request{kind: kind, manager: otherManager, unchecked: true}
	var err error
	if before == nil {
		before, err = c.API.create(ctx, r, object)
	} else {
		before, err = c.API.update(ctx, r, object)
	}
	if err != nil || !kind.HasStatus || same(before.Object["status"], status) {
		return err
	}
	object = before.DeepCopy()
	if delete(object.Object, "status"); hasStatus {
		object.Object["status"] = status
	}
	r.subresource = "status"
	_, err = c.API.update(ctx, r, object)
	return err
}

// Delete deletes an object as another client would.
func (c *Cluster) Delete(object *unstructured.Unstructured) error {
	kind, err := c.API.kindOf(object)
	if err != nil {
		return err
	}
	return c.API.delete(request{kind: kind, manager: otherManager}, refOf(kind, object).NamespacedName, metav1.DeleteOptions{})
}

// recorder records Events.
type recorder struct{ c *Cluster }

func (r recorder) Event(about runtime.Object, kind, reason, message string) {
	r.c.Events = append(r.c.Events, Event{about, kind, reason, message})
}

func (r recorder) Eventf(about runtime.Object, kind, reason, format string, args ...any) {
	r.Event(about, kind, reason, fmt.Sprintf(format, args...))
}

func (r recorder) AnnotatedEventf(about runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	r.Eventf(about, kind, reason, format, args...)
}

// OfRule returns the Events about the parent, among those that were emitted, that spec.events renders.
func (c *Cluster) OfRule(events []Event) []Event {
	return slices.DeleteFunc(slices.Clone(events), func(e Event) bool {
		about, ok := e.About.(*unstructured.Unstructured)
		return !ok || !c.IsParent(about) || !c.rendered[program.Event{Reason: e.Reason, Message: e.Message}]
	})
}

// Namespace returns a Namespace; nil if it does not exist.
func (c *Cluster) Namespace(name string) *unstructured.Unstructured {
	return c.API.Find(operator.NamespacesGVR, "", name)
}
