package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Schemas gives the schemas of kinds. *schemas.Schemas implements it.
type Schemas interface {
	// Converter returns the converter that knows gvk. Where the server has no schema for it, the error has a method
	// NoSchema() bool that returns true; the child is then compared by deduced paths. Any other error is passed on.
	Converter(ctx context.Context, gvk schema.GroupVersionKind) (managedfields.TypeConverter, error)
	// Recheck asks the server whether the schemas of gv are still the newest, and says whether they changed. It limits
	// its own rate.
	Recheck(ctx context.Context, gv schema.GroupVersion) (changed bool, err error)
}

// Options configure a Writer.
type Options struct {
	// Client sends all requests. Required. Its own rate limit, if any, holds.
	Client dynamic.Interface
	// Schemas gives the schemas of kinds. Required.
	Schemas Schemas
	// HasStatus says whether a kind has a status subresource; the server then ignores status in the writes of a child.
	// nil: none has.
	HasStatus func(schema.GroupVersionKind) bool
	// Marks proves whose an object is. Required.
	Marks *Marks
	// Reserved are objects that are never written.
	Reserved Reserved
	// NameOf is the namespace/name of a rule, for messages; empty where it is not known. nil: none is.
	NameOf func(ruleID string) string
	// IsGone says whether the rule that an owner names is known to be no more. What it made for a parent is then taken
	// over by another rule that renders it for the same parent. nil: none is.
	IsGone func(Owner) bool
}

func (o Options) validate() error {
	if o.Client == nil {
		return errors.New("apply: Options.Client is required")
	}
	if o.Schemas == nil {
		return errors.New("apply: Options.Schemas is required")
	}
	if o.Marks == nil {
		return errors.New("apply: Options.Marks is required")
	}
	return nil
}

// Writer compares and writes children. It is safe for concurrent use.
type Writer struct {
	client    dynamic.Interface
	schemas   Schemas
	hasStatus func(schema.GroupVersionKind) bool
	marks     *Marks
	reserved  Reserved
	isGone    func(Owner) bool
	nameOf    func(ruleID string) string
	kinds     kinds
	shapes    shapes

	// seed is what sources and shapes are hashed with.
	seed maphash.Seed

	// noPut has the resources that took a patch from us after they had denied us a PUT.
	noPut sync.Map

	mu sync.Mutex
	// known maps the UID of a child to what it was after the last write or the last successful cover check. Guarded
	// by mu.
	known map[types.UID]glance
	// patched has, by the UID of a target, a hash of the entry of each manager of patches after its last write, with what it
	// set. Guarded by mu.
	patched map[types.UID]map[string]uint64
}

// New returns a Writer, or an error when a required option is missing.
func New(o Options) (*Writer, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.HasStatus == nil {
		o.HasStatus = func(schema.GroupVersionKind) bool { return false }
	}
	if o.IsGone == nil {
		o.IsGone = func(Owner) bool { return false }
	}
	if o.NameOf == nil {
		o.NameOf = func(string) string { return "" }
	}
	seed := maphash.MakeSeed()
	return &Writer{
		client:    o.Client,
		marks:     o.Marks,
		reserved:  o.Reserved,
		nameOf:    o.NameOf,
		isGone:    o.IsGone,
		schemas:   o.Schemas,
		hasStatus: o.HasStatus,
		seed:      seed,
		shapes:    shapes{seed: seed},
		known:     map[types.UID]glance{},
		patched:   map[types.UID]map[string]uint64{},
	}, nil
}

// Action says what Sync did.
type Action string

// The actions of Sync.
const (
	ActionNone    Action = "none"
	ActionCreated Action = "created"
	ActionApplied Action = "applied"
	ActionAdopted Action = "adopted"
)

// Result is the outcome of a successful Sync.
type Result struct {
	// Live is the newest knowledge of the object: the answer of the write, or the object that was found to be in sync.
	Live *unstructured.Unstructured
	// Action is what was done.
	Action Action
	// Lost are the rendered paths that an apply took back, see Child.Lost; none where what is rendered changed too.
	Lost []Contested
}

// Sync brings one child up to date. live is the newest knowledge of the whole object, nil where there is none; it is not
// changed. A child that is in sync costs no request; one that must change costs one, or one more where live is not how it is any
// more, or three when the set of its paths changes for the first time after its creation; a new one costs one.
//
// The error is *NameTakenError, *TerminatingError, *ReplacedError, *UntiedError or *InvalidError; any other error is worth another try.
func (w *Writer) Sync(ctx context.Context, gvr schema.GroupVersionResource, child *Child, live *unstructured.Unstructured) (Result, error) {
	if live == nil {
		return w.create(ctx, gvr, child)
	}
	return w.update(ctx, gvr, child, live)
}

// InSync says whether live is as child wants it: its mark says the same, the recorded value hash is equal, and our entries in
// managedFields still hold every rendered path. It sends no request.
func (w *Writer) InSync(_ context.Context, child *Child, live *unstructured.Unstructured) bool {
	if w.marks.formerCounts(live) {
		former, err := w.former(child)
		if err != nil {
			return false
		}
		child = former
	}
	last, ok := recorded(live)
	if !ok || !child.isMarked(live) || last.value != child.fingerprint.value || child.fingerprint.content != "" && last.content != child.fingerprint.content {
		return false
	}
	state, err := w.stateOf(live, last.value)
	if err != nil {
		return false
	}
	w.mu.Lock()
	known := w.known[live.GetUID()]
	w.mu.Unlock()
	if known.state != state && !child.covered(live) {
		return false
	}
	w.know(live, glance{version: live.GetResourceVersion(), state: state, source: child.source})
	return true
}

// Needless says whether Sync would find nothing to do. It asks for no more of live than its metadata, and sends no request.
func (w *Writer) Needless(ctx context.Context, child *Child, live *unstructured.Unstructured) bool {
	return child.refuse(live) == nil && w.InSync(ctx, child, live)
}

// Reread reads the object live, of which more is to be known than its metadata. A *ReplacedError says that it is gone or
// has another UID now.
func (w *Writer) Reread(ctx context.Context, gvr schema.GroupVersionResource, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return w.getSame(ctx, gvr, live)
}

// Forget drops what is kept in memory of the object with that UID. It is called when the object is gone.
func (w *Writer) Forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.known, uid)
}

// remember keeps our entries in the answer of a write of child.
func (w *Writer) remember(child *Child, answer *unstructured.Unstructured) {
	state, err := w.stateOf(answer, child.fingerprint.value)
	if err != nil {
		w.Forget(answer.GetUID()) // the cover check decides then
		return
	}
	w.know(answer, glance{version: answer.GetResourceVersion(), state: state, source: child.source})
}

func (w *Writer) know(live *unstructured.Unstructured, seen glance) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known[live.GetUID()] = seen
}

// refuse says why live must not be written to, or nil.
func (c *Child) refuse(live *unstructured.Unstructured) error {
	ref := RefOf(live)
	if err := c.reserved.checkObject(live); err != nil {
		return err
	}
	switch {
	case live.GetDeletionTimestamp() != nil:
		return &TerminatingError{Ref: ref, Reason: Terminating(live)}
	case c.marks.Owns(live, c.Owner.RuleID, c.Owner.Parent.UID):
		return nil
	case c.orphaned(live), c.inherits(live), c.returning && c.returns(live), c.isOursUnproven(live):
		return nil
	case c.marks.earlierParent(live, c.Owner.Parent):
		return &TerminatingError{Ref: ref, Reason: fmt.Sprintf(
			"was made for an earlier %s; waiting for its end", c.Owner.Parent)}
	default:
		taken := &NameTakenError{Ref: ref, OwnedBy: c.ownedBy(live)}
		switch {
		case ref.UID == c.Owner.Parent.UID:
			taken.OwnedBy = "itself: it is the parent"
		case c.returns(live):
			taken.Free, taken.Returns = live, true
		case c.mayAdopt(live):
			taken.Free = live
		}
		return taken
	}
}

// orphaned says whether live was this very child of an earlier object with the parent's name, and was let go when that was
// deleted with orphaning: nobody will end it, and it returns to the parent that has come in its place.
func (c *Child) orphaned(live *unstructured.Unstructured) bool {
	owner, ok := c.marks.OwnerOf(live)
	return ok && owner.RuleID == c.Owner.RuleID && owner.IsFor(c.Owner.Parent) && len(live.GetOwnerReferences()) == 0
}

// inherits says whether live was made for the same parent by a rule that is no more, as when a rule is renamed.
func (c *Child) inherits(live *unstructured.Unstructured) bool {
	owner, ok := c.marks.OwnerOf(live)
	return ok && c.isGone != nil && owner.Parent.UID == c.Owner.Parent.UID && c.isGone(owner)
}

// isOursUnproven says whether live is the child although no mark proves that any more, because somebody took it away or the
// key of its seal was lost: it is given a new one then. The rule renders it, and either it refers to the parent as its
// controller, or the API server's record shows that our manager gave it the labels that it has. That is enough to write to
// it, and never to delete it.
func (c *Child) isOursUnproven(live *unstructured.Unstructured) bool {
	if _, proven := c.marks.OwnerOf(live); proven {
		return false
	}
	if c.marks.isSealedFor(live, c.Owner.RuleID, c.Owner.Parent.UID) {
		return true
	}
	rule, labelled := metaString(live, "labels", LabelRule)
	if labelled && rule != c.Owner.RuleID {
		return false
	}
	if controller := metav1.GetControllerOfNoCopy(live); controller != nil {
		return controller.UID == c.Owner.Parent.UID
	}
	uid, _ := metaString(live, "labels", LabelParentUID)
	return labelled && uid == string(c.Owner.Parent.UID) && c.wrote(live, labelPath(LabelParentUID))
}

// wrote says whether the API server's record shows that our manager wrote a path, or may have.
func (c *Child) wrote(live *unstructured.Unstructured, path fieldpath.Path) bool {
	return slices.ContainsFunc(entriesOf(live), func(e entry) bool {
		if !e.ours() && !e.ancient() {
			return false
		}
		fields, err := e.fields()
		return err == nil && fields.Has(path)
	})
}

// MayMark says whether an object is a child of the owner's parent, made by the owner's rule, or may be given a mark that says
// so. Its node is no matter.
func (w *Writer) MayMark(live *unstructured.Unstructured, owner Owner) bool {
	return w.unfinished(live, owner, nil).refuse(live) == nil
}

func labelPath(label string) fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "labels", label)
}

// isMarked says whether live has the child's mark, sealed by the key that seals now.
func (c *Child) isMarked(live *unstructured.Unstructured) bool {
	if c.isFormer {
		return true // all of it is in the value hash
	}
	text, _ := metaString(live, "annotations", AnnotationApplied)
	m, ok := parseMark(text)
	return ok && m.sameClaim(c.mark)
}

// Terminating says of an object that is being deleted what is waited for.
func Terminating(obj *unstructured.Unstructured) string {
	return "is being deleted; waiting for its end" + finalizersOf(obj)
}

func finalizersOf(obj *unstructured.Unstructured) string {
	// The garbage collector's own say that what the object owns goes first.
	finalizers := slices.DeleteFunc(obj.GetFinalizers(), func(name string) bool {
		return name == metav1.FinalizerDeleteDependents || name == metav1.FinalizerOrphanDependents
	})
	if len(finalizers) == 0 {
		return ""
	}
	return ", which its finalizers hold up: " + strings.Join(finalizers, ", ")
}

// ownedBy tells whose an object is, as far as it shows.
func (c *Child) ownedBy(obj *unstructured.Unstructured) string {
	if owner, ok := c.marks.OwnerOf(obj); ok {
		whose := "rule " + cmp.Or(owner.Rule, c.nameOf(owner.RuleID), owner.RuleID)
		if owner.Parent.Name != "" {
			whose += " for " + owner.Parent.String()
		}
		return whose
	}
	if controller := metav1.GetControllerOfNoCopy(obj); controller != nil {
		return fmt.Sprintf("%s %s, its controller", controller.Kind, controller.Name)
	}
	var managers []string
	seen := map[string]bool{}
	for _, e := range entriesOf(obj) {
		if !seen[e.manager] {
			seen[e.manager] = true
			managers = append(managers, e.manager)
		}
	}
	if len(managers) == 0 {
		return "nobody who is recorded"
	}
	return "others (field managers: " + strings.Join(managers, ", ") + ")"
}
