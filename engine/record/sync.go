package record

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/keyring"
	"kanon.dev/kanon/engine/queue"
	"kanon.dev/kanon/engine/source"
)

// Run reads the records of the cluster, keeps them as they should be and watches their annotations, until ctx ends.
func (s *Store) Run(ctx context.Context) {
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() { s.followAnnotations(ctx) })
	retries := queue.Retries{Limits: queue.Limits{First: time.Second, Max: time.Minute}}
	s.bell.Loop(ctx, 0, func() time.Duration { return retries.Next(s.sync(ctx)) })
}

// sync reads what has to be read, and writes the records that differ from what they should be. It reports whether all
// of that succeeded.
func (s *Store) sync(ctx context.Context) bool {
	if s.keys.Keyring() == nil {
		return true // whoever reads the keys calls Sync
	}
	if loaded, _ := s.IsLoaded(); !loaded && !s.load(ctx) {
		return false
	}
	s.checkSeals()
	good := s.recheckAll(ctx)
	for _, id := range s.IDs() {
		good = s.checkRemoval(ctx, id) && s.syncOne(ctx, id) && good
	}
	return good
}

// load reads the records of the cluster.
func (s *Store) load(ctx context.Context) bool {
	records, err := s.list(ctx)
	if err != nil && ctx.Err() != nil {
		return false
	}
	s.mu.Lock()
	before := s.failed
	s.failed = err
	if err == nil {
		s.loaded = true
		s.takeLocked(ctx, records)
	}
	s.mu.Unlock()
	if err != nil && isSame(before, err) {
		return false
	}
	if err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "cannot read the records of rules; no rule starts before that succeeds")
	}
	s.changed("")
	return err == nil
}

// takeLocked takes in the records of the cluster. One that cannot be decoded counts as missing: its rule counts as
// new, and overwrites it. One that a newer version wrote stays as it is, and so does one that somebody else made for
// an id that no rule has.
func (s *Store) takeLocked(ctx context.Context, records []unstructured.Unstructured) {
	log := logr.FromContextOrDiscard(ctx)
	for i := range records {
		live := &records[i]
		id, ok := strings.CutPrefix(live.GetName(), NamePrefix)
		if !ok {
			continue
		}
		s.annotateLocked(live.GetName(), source.AnnotationsOf(live))
		stored, sealed, err := decode(live, s.keys.Keyring())
		if newer, ok := errors.AsType[*NewerError](err); ok {
			log.Error(err, "the rule of this record does not run")
			s.byID[id] = &entry{live: live, newer: newer}
			continue
		}
		if err != nil {
			log.Error(err, "the record of a rule cannot be decoded")
			continue
		}
		if !sealed.Proves() && !s.isOf(id, stored.Rule) {
			log.Info("ignored a record without a seal of Kanon's: its name does not belong to its rule", "rule", stored.Rule, "configMap", live.GetName())
			continue
		}
		if !sealed.Proves() {
			log.Info("the record of a rule has no seal of Kanon's, and its permissions to delete objects do not count",
				"rule", stored.Rule, "configMap", live.GetName())
		}
		e := s.byID[id]
		if e == nil {
			e = &entry{wanted: stored.Clone()}
			s.byID[id] = e
		}
		e.live, e.stored, e.sealed = live, stored, sealed == keyring.Current
	}
}

// isOf reports whether an id is that of a rule, given as namespace/name. Field managers and finalizers begin with the
// id, so a forged one could name those of another rule.
func (s *Store) isOf(id, rule string) bool {
	namespace, name, _ := strings.Cut(rule, "/")
	return s.ruleID == nil || s.ruleID(s.namespace, namespace, name) == id
}

// checkSeals marks records for rewriting that were not sealed with the current key.
func (s *Store) checkSeals() {
	s.mu.Lock()
	defer s.mu.Unlock()
	current := s.keys.Keyring().CurrentID()
	for _, e := range s.byID {
		e.sealed = e.sealed && e.live != nil && strings.HasPrefix(sealOf(e.live), current)
	}
}

// syncOne writes or deletes the record of one rule if necessary. It reports whether that succeeded.
func (s *Store) syncOne(ctx context.Context, id string) bool {
	s.mu.Lock()
	e := s.byID[id]
	if e == nil || !e.isPending() {
		s.mu.Unlock()
		return true
	}
	if e.newer != nil {
		known := e.err != nil
		e.err = e.newer
		s.mu.Unlock()
		if !known {
			s.changed(id)
		}
		return true
	}
	before, wanted := *e, e.wanted.Clone()
	if before.remove {
		// From here on there is no record: if the rule comes back now, it waits for a new one.
		e.live, e.stored, e.sealed = nil, Record{}, false
	}
	s.mu.Unlock()

	live, err := s.send(ctx, id, &before, &wanted)
	if errors.Is(err, errDeleted) {
		s.Recheck() // forgets the rule, unless its text exists again
		return true
	}
	if err != nil && ctx.Err() != nil {
		return false
	}

	s.mu.Lock()
	e.err = err
	switch {
	case err != nil && before.remove:
		e.live, e.stored, e.sealed = before.live, before.stored, before.sealed
	case err != nil:
	case !before.remove:
		e.live, e.stored, e.sealed = live, wanted, true
	case e.remove:
		delete(s.byID, id)
	}
	if err == nil && e.isPending() {
		s.Sync() // the wanted record changed meanwhile
	}
	s.mu.Unlock()
	if err == nil && before.remove {
		s.annotate(NamePrefix+id, source.Annotations{}) // a record created later has none
	}
	if err != nil && isSame(before.err, err) {
		return false
	}
	if err == nil && before.err == nil && !before.remove && before.live != nil && before.sealed && before.stored.equalButReport(&wanted) {
		return true // nobody waits for a report to be written
	}
	if err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "cannot write the record of a rule; retrying", "rule", wanted.Rule)
	}
	s.changed(id)
	return err == nil
}

// send deletes or writes the ConfigMap of a record, and returns the resulting one. If somebody deleted a record that
// reports a waiting removal, the error is errDeleted: whoever does that gives the removal up.
func (s *Store) send(ctx context.Context, id string, before *entry, wanted *Record) (*unstructured.Unstructured, error) {
	if before.remove {
		return nil, s.delete(ctx, before.live)
	}
	desired, err := wanted.encode(s.namespace, id, s.keys.Keyring())
	if err != nil {
		return nil, err
	}
	return s.write(ctx, before.live, desired, before.stored.Removal == "")
}

// isSame reports whether an attempt failed for the same reason as the one before.
func isSame(before, err error) bool { return before != nil && before.Error() == err.Error() }
