package program

import (
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/celenv/run"
)

// Input is what one evaluation starts from.
type Input struct {
	// Parent is only read.
	Parent *unstructured.Unstructured
	// Now is the time of the evaluation; expressions see it in whole seconds.
	Now time.Time
	// Reader answers what the rule looks up. It may be nil for a rule without
	// lookups that reads no observed.
	Reader Reader
	// Finalizing is true while the parent is being deleted, for a rule with
	// spec.finalize.
	Finalizing bool
	// Missing has the kinds of the rule that the cluster does not have, or may not have.
	// Children, patches and lookups of such a kind wait; optional ones are skipped where
	// that is certain. nil: every kind exists.
	Missing map[schema.GroupVersionKind]Absence
	// Random gives the bytes that random(n) is made of. nil: it gives asterisks, for
	// an evaluation of which nothing is written.
	Random io.Reader
	// Memory is what all evaluations hold together. nil: there is no bound for that.
	Memory Account
}

// Account is the memory that all evaluations share, in bytes: see Evaluation.Starved. It must
// have as much as Limits.ReconcileBytes at the least.
type Account = run.Account

// Reader answers from memory what an evaluation reads of the cluster besides
// the parent. Objects are only read.
type Reader interface {
	// Lookup gives the objects that a query is about, in any order; none where
	// there are none. The error says why that is not known now, as while an
	// informer fills: what reads the lookup waits.
	Lookup(q Query) ([]*unstructured.Unstructured, error)
	// Observed gives the live objects that a node of spec.children made for the
	// parent, in any order, those that are being deleted too. The error is as that
	// of Lookup.
	Observed(node string) ([]*unstructured.Unstructured, error)
	// Live gives the live object that a rendered one names, where it belongs to the
	// parent and is not being deleted, and nil otherwise. It is asked of children with createWhen,
	// updateWhen, an updatePolicy or a generated field, and of those that wait for what they
	// depend on. The error is as that of Lookup.
	Live(rendered *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Replaced gives the object that was deleted to be recreated as the rendered one, if that keeps
	// its generated values; else nil. It is asked where Live gives none.
	Replaced(rendered *unstructured.Unstructured) *unstructured.Unstructured
	// Outdated says whether a node's live object was last applied as something else
	// than is rendered, whatever others changed in it since. It is asked of children
	// with a rollout, and of those that wait for what they depend on.
	Outdated(node string, rendered, live *unstructured.Unstructured) bool
}

// Query names objects that a lookup reads: one by its name, or those of a
// selector.
type Query struct {
	// Lookup is the id.
	Lookup string
	GVK    schema.GroupVersionKind
	Target
}

// Absence says why objects of a kind can neither be read nor written now.
type Absence struct {
	// Certain is true where the cluster is known not to have the kind, in any version.
	// Otherwise the kind may exist: discovery failed, or another version is served.
	Certain bool
	// Message is for people: "the cluster has no kind Certificate in cert-manager.io/v1".
	Message string
}
