package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/engine/pacing"
)

// records keeps the record of each rule, and brings to the cluster what is wanted of
// them. Only run sends requests, so nobody waits for the API server here; whoever
// needs a record to say something asks for it, and goes on when written tells so.
type records struct {
	client    dynamic.Interface
	namespace string
	// keys seal the records.
	keys keys
	// written is called, from run, when the record of a rule was read, written or
	// removed, or that failed for a new reason. Empty: all of them.
	written func(id string)
	// signal holds a token while there is something to write.
	signal chan struct{}

	mu sync.Mutex
	// loaded is true once the records that there are have been read; failed says
	// why that does not succeed. Guarded by mu, as is all below.
	loaded bool
	failed error
	byID   map[string]*recordState
	// rechecks is true where the records that are known may not exist any more.
	rechecks bool
}

// keys are what *keyring.Store has.
type keys interface {
	// Keyring is nil while nothing is known of the keys.
	Keyring() *keyring.Keyring
	// IsFirst tells whether there was no key before this process.
	IsFirst() bool
}

// recordState is a record as it is and as it should be.
type recordState struct {
	// object is the ConfigMap as it was seen last, nil where there is none, and
	// stored what it says.
	object *unstructured.Unstructured
	stored ruleRecord
	// sealed is true where that has a seal of the key that seals now.
	sealed bool
	// wanted is what it should say; nothing is to be left where remove is true.
	wanted ruleRecord
	remove bool
	// removal says whether the rule's text may be taken for removed.
	removal removalCheck
	// err is why the last attempt failed.
	err error
}

func (s *recordState) dirty() bool {
	if s.remove {
		return true
	}
	return s.object == nil || !s.sealed || !s.stored.equal(&s.wanted)
}

func newRecords(client dynamic.Interface, namespace string, keys keys, written func(id string)) *records {
	return &records{
		client: client, namespace: namespace, keys: keys, written: written,
		signal: make(chan struct{}, 1), byID: make(map[string]*recordState),
	}
}

// isLoaded tells whether it is known which records there are, and if not, why that
// could not be read, where it was tried.
func (r *records) isLoaded() (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loaded, r.failed
}

// stored is the record of a rule as the cluster has it.
func (r *records) stored(id string) (ruleRecord, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byID[id]
	if s == nil || s.object == nil || s.remove {
		return ruleRecord{}, false
	}
	return s.stored.clone(), true
}

// pending tells whether the record of a rule does not say yet what it should.
func (r *records) pending(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byID[id]
	return s != nil && s.dirty()
}

// reference is the ConfigMap of a rule's record, for Events about a rule that has no other
// object; nil where there is none.
func (r *records) reference(id string) *corev1.ObjectReference {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byID[id]
	if s == nil || s.object == nil {
		return nil
	}
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: r.namespace, Name: s.object.GetName(), UID: s.object.GetUID(),
	}
}

// ids lists the rules that have a record.
func (r *records) ids() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.byID))
}

// failure is why the record of a rule is not as it should be; nil where it is, or
// where nothing has gone wrong yet.
func (r *records) failure(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.byID[id]; s != nil {
		return s.err
	}
	return nil
}

// want changes what the record of a rule should say.
func (r *records) want(id string, change func(*ruleRecord)) {
	r.wantFrom(id, func() bool { return true }, change)
}

// wantFrom is want of somebody who may be late: nothing changes where entitled, which is
// asked under the lock, says no.
func (r *records) wantFrom(id string, entitled func() bool, change func(*ruleRecord)) {
	r.mu.Lock()
	if !entitled() {
		r.mu.Unlock()
		return
	}
	s := r.byID[id]
	if s == nil {
		s = &recordState{}
		r.byID[id] = s
	}
	s.remove, s.removal = false, removalUnchecked
	change(&s.wanted)
	dirty := s.dirty()
	r.mu.Unlock()
	if dirty {
		r.ring()
	}
}

// removeFrom has the record of a rule removed, where entitled, which is asked under the
// lock, allows for that.
func (r *records) removeFrom(id string, entitled func() bool) {
	r.mu.Lock()
	s := r.byID[id]
	if !entitled() {
		s = nil
	}
	if s != nil {
		s.remove = true
	}
	r.mu.Unlock()
	if s != nil {
		r.ring()
	}
}

func (r *records) ring() {
	select {
	case r.signal <- struct{}{}:
	default: // it is ringing already
	}
}

// run reads the records and writes what is wanted of them, until ctx ends. What
// fails is tried again.
func (r *records) run(ctx context.Context) {
	retry := time.NewTimer(0)
	defer retry.Stop()
	retries := pacing.Limits{First: time.Second, Max: time.Minute}
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-r.signal:
		case <-retry.C:
		}
		retry.Stop()
		if r.bringUpToDate(ctx) {
			failures = 0
			continue
		}
		failures++
		retry.Reset(retries.After(failures))
	}
}

// bringUpToDate reads the records, if that was not done, and writes those that are
// not as they should be. It tells whether all of that succeeded.
func (r *records) bringUpToDate(ctx context.Context) bool {
	if r.keys.Keyring() == nil {
		return true // they ring when they are known
	}
	if loaded, _ := r.isLoaded(); !loaded && !r.load(ctx) {
		return false
	}
	r.checkSeals()
	good := r.recheckAll(ctx)
	for _, id := range r.ids() {
		good = r.checkRemoval(ctx, id) && r.write(ctx, id) && good
	}
	return good
}

// load reads the records that there are.
func (r *records) load(ctx context.Context) bool {
	list, err := r.configMaps().List(ctx, metav1.ListOptions{LabelSelector: labelRecord + "=true"})
	if err != nil && ctx.Err() != nil {
		return false
	}
	r.mu.Lock()
	before := r.failed
	r.failed = err
	if err == nil {
		r.loaded = true
		// Records without a seal are of a time before there were keys, if none has one.
		upgrade := r.keys.IsFirst() && !slices.ContainsFunc(list.Items, isSealed)
		for i := range list.Items {
			r.takeLocked(ctx, &list.Items[i], upgrade)
		}
	}
	r.mu.Unlock()
	if err == nil || !sameText(before, err) {
		if err != nil && ctx.Err() == nil {
			logr.FromContextOrDiscard(ctx).Error(err, "reading what is remembered of rules; none starts before that succeeds")
		}
		r.written("")
	}
	return err == nil
}

// takeLocked takes in a record that was read. One that cannot be understood counts
// as none: its rule is then taken for a new one, which is written over it.
func (r *records) takeLocked(ctx context.Context, object *unstructured.Unstructured, upgrade bool) {
	id, ok := strings.CutPrefix(object.GetName(), recordPrefix)
	if !ok {
		return
	}
	stored, sealed, err := readRecord(object, r.keys.Keyring(), upgrade)
	if err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "what is remembered of a rule cannot be understood")
		return
	}
	if !sealed.Proves() && !upgrade {
		logr.FromContextOrDiscard(ctx).Info("the record of a rule has no seal of Kanon's; what it says of deleting objects is not believed",
			"rule", stored.Rule, "configMap", object.GetName())
	}
	s := r.byID[id]
	if s == nil {
		s = &recordState{wanted: stored.clone()}
		r.byID[id] = s
	}
	s.object, s.stored, s.sealed = object, stored, sealed == keyring.Current
}

// isSealed tells whether a record has a seal, whatever it proves.
func isSealed(object unstructured.Unstructured) bool {
	_, sealed, _ := unstructured.NestedString(object.Object, "data", sealKey)
	return sealed
}

// checkSeals has the records sealed anew that have a seal of another key than the one that seals now.
func (r *records) checkSeals() {
	r.mu.Lock()
	defer r.mu.Unlock()
	current := r.keys.Keyring().CurrentID()
	for _, s := range r.byID {
		seal := ""
		if s.object != nil {
			seal, _, _ = unstructured.NestedString(s.object.Object, "data", sealKey)
		}
		s.sealed = s.sealed && strings.HasPrefix(seal, current)
	}
}

func (r *records) configMaps() dynamic.ResourceInterface {
	return r.client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(r.namespace)
}

// write brings the record of one rule to the cluster, if it is not there as it
// should be.
func (r *records) write(ctx context.Context, id string) bool {
	r.mu.Lock()
	s := r.byID[id]
	if s == nil || !s.dirty() {
		r.mu.Unlock()
		return true
	}
	object, stored, sealed, wanted, remove := s.object, s.stored, s.sealed, s.wanted.clone(), s.remove
	if remove {
		// While it is being deleted, there is no record: a rule that comes back now waits for a new one.
		s.object, s.stored, s.sealed = nil, ruleRecord{}, false
	}
	r.mu.Unlock()

	var answer *unstructured.Unstructured
	var err error
	if remove {
		err = r.deleteObject(ctx, object)
	} else {
		answer, err = r.writeObject(ctx, id, object, &wanted)
	}
	if err != nil && ctx.Err() != nil {
		return false
	}

	r.mu.Lock()
	before := s.err
	s.err = err
	switch {
	case err != nil && remove:
		s.object, s.stored, s.sealed = object, stored, sealed
	case err != nil:
	case !remove:
		s.object, s.stored, s.sealed = answer, wanted, true
	case s.remove:
		delete(r.byID, id)
	}
	again := err == nil && s.dirty()
	r.mu.Unlock()
	if err == nil || !sameText(before, err) {
		if err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "remembering a rule; it is tried again", "rule", wanted.Rule)
		}
		r.written(id)
	}
	if again {
		r.ring()
	}
	return err == nil
}

// writeObject makes the ConfigMap of a record, or brings the one that is there up to
// date, and returns it.
func (r *records) writeObject(ctx context.Context, id string, live *unstructured.Unstructured, wanted *ruleRecord) (*unstructured.Unstructured, error) {
	desired, err := wanted.configMap(r.namespace, id, r.keys.Keyring())
	if err != nil {
		return nil, err
	}
	answer, err := r.createOrUpdate(ctx, live, desired)
	if live == nil && apierrors.IsNotFound(err) {
		// Kanon's namespace does not exist: it runs out of the cluster.
		if err = createNamespace(ctx, r.client, r.namespace); err == nil {
			answer, err = r.createOrUpdate(ctx, nil, desired)
		}
	}
	if apierrors.IsAlreadyExists(err) || live != nil && (apierrors.IsConflict(err) || apierrors.IsNotFound(err)) {
		// Somebody removed it, or made it, or changed it. What we want is what counts.
		live, err = r.configMaps().Get(ctx, desired.GetName(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return r.writeObject(ctx, id, nil, wanted)
		case err == nil:
			answer, err = r.createOrUpdate(ctx, live, desired)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("write ConfigMap %s in namespace %s: %w", desired.GetName(), r.namespace, err)
	}
	return answer, nil
}

func (r *records) createOrUpdate(ctx context.Context, live, desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if live == nil {
		return r.configMaps().Create(ctx, desired, metav1.CreateOptions{FieldManager: recordManager})
	}
	patch := desired.DeepCopy()
	patch.SetUID(live.GetUID())
	patch.SetResourceVersion(live.GetResourceVersion())
	if data, ok := patch.Object["data"].(map[string]any); ok && data[heldKey] == nil {
		data[heldKey] = nil // takes it away
	}
	body, err := json.Marshal(patch.Object)
	if err != nil {
		return nil, err
	}
	return r.configMaps().Patch(ctx, desired.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: recordManager})
}

// createNamespace makes Kanon's own namespace, for one that runs by the rights of
// whoever started it.
func createNamespace(ctx context.Context, client dynamic.Interface, name string) error {
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name},
	}}
	_, err := client.Resource(namespacesGVR).Create(ctx, namespace, metav1.CreateOptions{FieldManager: recordManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make namespace %s, which is not there: %w", name, err)
	}
	return nil
}

// deleteObject removes the ConfigMap of a record, exactly as it was seen or written.
func (r *records) deleteObject(ctx context.Context, live *unstructured.Unstructured) error {
	if live == nil {
		return nil
	}
	uid := live.GetUID()
	err := r.configMaps().Delete(ctx, live.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // gone, or another one that somebody made
	}
	if err != nil {
		return fmt.Errorf("remove ConfigMap %s in namespace %s: %w", live.GetName(), r.namespace, err)
	}
	return nil
}

// sameText tells whether two errors say the same.
func sameText(a, b error) bool {
	return errors.Is(a, b) || a != nil && b != nil && a.Error() == b.Error()
}
