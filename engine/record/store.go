package record

import (
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/source"
)

// Options are what a Store needs. All are required, except RuleID.
type Options struct {
	Client dynamic.Interface
	// Counter counts pending writes as work.
	Counter *queue.Counter
	// Namespace is Kanon's own namespace, where the records are.
	Namespace string
	// Keys seal the records.
	Keys Keys
	// RuleID returns the id of a rule. The store ignores a record without a seal whose name does not have the id of its
	// rule. nil: it ignores none.
	RuleID func(kanonNamespace, namespace, name string) string
	// Changed is called by Run when the record of a rule was read, written or deleted, and when that failed for a new
	// reason. The id is empty if all rules are concerned.
	Changed func(id string)
	// Annotated is called when the annotations of a record change.
	Annotated func()
}

// Keys has the keys of this installation. *keyring.Store implements it.
type Keys interface {
	// Keyring is nil until the keys are known.
	Keyring() *keyring.Keyring
}

// Store has the record of each rule, by the rule's id: as it is in the cluster, and as it should be. Its methods are
// safe for concurrent use. Except for CreateNamespace, only Run sends requests.
type Store struct {
	requests
	keys      Keys
	ruleID    func(kanonNamespace, namespace, name string) string
	changed   func(id string)
	annotated func()
	// bell is rung while Run has something to do.
	bell *queue.Bell

	mu sync.Mutex
	// loaded is true once the records of the cluster have been read; failed is the error of the last attempt. Guarded
	// by mu, like everything below.
	loaded bool
	failed error
	byID   map[string]*entry
	// annotations are those of the records that have some, by the rule's id.
	annotations map[string]source.Annotations
	// recheck is true while records that were read may no longer exist.
	recheck bool
}

// entry is the record of one rule.
type entry struct {
	// live is the ConfigMap as the store last read or wrote it, nil if there is none. stored is the record in it.
	live   *unstructured.Unstructured
	stored Record
	// sealed is true if the current key sealed it.
	sealed bool
	// newer is set if a newer version of Kanon wrote the record. Then it is not written, and its rule does not run.
	newer *NewerError
	// wanted is the record as it should be. If remove is true, there should be none.
	wanted Record
	remove bool
	// removal says whether the rule was really removed.
	removal removalCheck
	// err is the error of the last attempt to write the record.
	err error
}

// isPending reports whether the record has to be written or deleted.
func (e *entry) isPending() bool {
	return e.remove || e.live == nil || !e.sealed || !e.stored.Equal(&e.wanted)
}

// New returns a Store. It does nothing until Run is called.
func New(o Options) *Store {
	return &Store{
		requests: requests{client: o.Client, namespace: o.Namespace}, keys: o.Keys, ruleID: o.RuleID,
		changed: o.Changed, annotated: o.Annotated,
		bell: queue.NewBell(o.Counter), byID: make(map[string]*entry), annotations: make(map[string]source.Annotations),
	}
}

// IsLoaded reports whether the records of the cluster have been read, and the error of the last attempt.
func (s *Store) IsLoaded() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded, s.failed
}

// Get returns the record of a rule as it is in the cluster.
func (s *Store) Get(id string) (Record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byID[id]
	if e == nil || e.live == nil || e.remove || e.newer != nil {
		return Record{}, false
	}
	return e.stored.Clone(), true
}

// IsPending reports whether the record of a rule still has to be written or deleted.
func (s *Store) IsPending(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byID[id]
	return e != nil && e.isPending()
}

// Failure returns why the record of a rule could not be written or deleted; nil if that succeeded or was not tried.
// For a record that a newer version wrote it is a NewerError.
func (s *Store) Failure(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byID[id]; e != nil {
		return e.err
	}
	return nil
}

// Reference names the ConfigMap of a rule's record, for Events about a rule in a file. It is nil if there is no
// ConfigMap.
func (s *Store) Reference(id string) *corev1.ObjectReference {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byID[id]
	if e == nil || e.live == nil {
		return nil
	}
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: s.namespace, Name: e.live.GetName(), UID: e.live.GetUID(),
	}
}

// IDs returns the ids of the rules with a record, sorted.
func (s *Store) IDs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.byID))
}

// Names returns the names of the rules with a record, by id. The name is empty if a newer version wrote the record.
// known is false until the records of the cluster have been read.
func (s *Store) Names() (names map[string]types.NamespacedName, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names = make(map[string]types.NamespacedName, len(s.byID))
	for id, e := range s.byID {
		namespace, name, _ := strings.Cut(e.wanted.Rule, "/")
		names[id] = types.NamespacedName{Namespace: namespace, Name: name}
	}
	return names, s.loaded
}

// Update changes the record of a rule as it should be, and creates it if necessary. A pending deletion of the record
// is cancelled.
func (s *Store) Update(id string, change func(*Record)) {
	s.UpdateIf(id, func() bool { return true }, change)
}

// UpdateIf is Update for a caller who may be late, because another revision of the rule may have started meanwhile.
// It calls entitled under the lock of the store, and does nothing if that returns false.
func (s *Store) UpdateIf(id string, entitled func() bool, change func(*Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !entitled() {
		return
	}
	e := s.byID[id]
	if e == nil {
		e = &entry{}
		s.byID[id] = e
	}
	e.remove, e.removal = false, removalUnchecked
	change(&e.wanted)
	if e.isPending() {
		s.Sync()
	}
}

// Note changes what the record of a rule says for people, such as Report. It does nothing if there is no record, or if it
// is to be deleted.
func (s *Store) Note(id string, change func(*Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.byID[id]
	if e == nil || e.remove || e.newer != nil {
		return
	}
	if change(&e.wanted); e.isPending() {
		s.Sync()
	}
}

// DeleteIf has Run delete the record of a rule if entitled returns true, as in UpdateIf.
func (s *Store) DeleteIf(id string, entitled func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byID[id]; e != nil && entitled() {
		e.remove = true
		s.Sync()
	}
}

// Recheck has Run read the records again: they may be gone with Kanon's namespace, or somebody has deleted one. Run
// restores the records of rules that exist, and forgets the others. It also deletes the records of removals that wait
// in a tenant's namespace that no longer exists: nothing of those rules is left.
func (s *Store) Recheck() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recheck = true
	s.Sync()
}

// Sync has Run compare the records with the cluster, for example because the keys have changed.
func (s *Store) Sync() { s.bell.Ring() }
