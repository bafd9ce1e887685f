package program

import (
	"io"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/rules/celenv/run"
)

// Input is what an evaluation reads.
type Input struct {
	// Parent is read-only.
	Parent *unstructured.Unstructured
	// Now is the time of the evaluation. Expressions see whole seconds.
	Now time.Time
	// Reader reads the cluster. It may be nil for a rule that has no lookups and does not read observed.
	Reader Reader
	// Finalizing is true while the parent is being deleted, for a rule with spec.finalize.
	Finalizing bool
	// Missing has the kinds of the rule that the cluster lacks, or may lack. Children, patches and lookups of such a
	// kind wait; optional ones are skipped if the kind certainly does not exist. nil: every kind exists.
	Missing map[schema.GroupVersionKind]Absence
	// Random is the source of random(n). nil: random(n) gives asterisks, for an evaluation that writes nothing.
	Random io.Reader
	// Memory is the budget that all evaluations share. nil: no bound.
	Memory Account
}

// Account is the memory that all evaluations share, in bytes: see Evaluation.OutOfMemory. It must have at least
// Limits.ReconcileBytes.
type Account = run.Account

// Reader answers from memory what an evaluation reads of the cluster besides the parent. Objects are read-only. An
// error means that the answer is not known now, as while an informer fills: whatever reads it waits.
type Reader interface {
	// Lookup returns the objects that match a query, in any order.
	Lookup(q Query) ([]*unstructured.Unstructured, error)
	// Observed returns the live objects that a child has for the parent, in any order, including those that are being
	// deleted.
	Observed(node string) ([]*unstructured.Unstructured, error)
	// Live returns the live object of a rendered one if it belongs to the parent and is not being deleted; otherwise
	// nil. It is called for children with createWhen, updateWhen, an updatePolicy or a generated field, and for those
	// that wait for a dependency.
	Live(rendered *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Replaced returns the object that was deleted to be recreated as the rendered one, if the new one keeps its
	// generated values; otherwise nil. It is called if Live returns nil.
	Replaced(rendered *unstructured.Unstructured) *unstructured.Unstructured
	// Outdated reports whether the live object was last applied as something else than is rendered now, whatever others
	// changed since. It is called for children with a rollout, and for those that wait for a dependency.
	Outdated(node string, rendered, live *unstructured.Unstructured) bool
}

// Query selects the objects of a lookup: one by name, or those of a selector.
type Query struct {
	// Lookup is the id.
	Lookup string
	GVK    schema.GroupVersionKind
	Target
}

// Absence is why objects of a kind can neither be read nor written now.
type Absence struct {
	// Certain is true if the cluster has the kind in no version. Otherwise the kind may exist: discovery failed, or
	// another version is served.
	Certain bool
	// Message is for people: "the cluster has no kind Certificate in cert-manager.io/v1".
	Message string
}
