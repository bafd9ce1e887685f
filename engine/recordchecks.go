package engine

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/conditions"
	"kanon.dev/kanon/engine/source"
	"kanon.dev/kanon/rules"
)

// When Kanon's namespace is deleted, the rules in it go as if each had been removed, and what is
// remembered of them goes as well. Nobody asked for their children to be deleted. So before a rule
// counts as removed, Kanon makes sure that its namespace is the one that the rule was in. A rule that
// went with the namespace stops, and all that it made stays as it is until the rule is back.

// removalCheck is how far it is known whether a rule was removed.
type removalCheck int

const (
	// removalUnchecked: nobody asked yet.
	removalUnchecked removalCheck = iota
	// removalAsked: somebody did, and the answer is to come.
	removalAsked
	// removalMeant: the namespace exists as it was, and the rule does not.
	removalMeant
)

// isRemovalMeant tells whether a rule that does not exist any more was removed, and did not go with
// Kanon's namespace. Where that is not known yet, it will be: written is called then.
func (r *records) isRemovalMeant(id string) bool {
	r.mu.Lock()
	s := r.byID[id]
	if s == nil || s.removal == removalMeant {
		r.mu.Unlock()
		return s != nil
	}
	s.removal = removalAsked
	r.mu.Unlock()
	r.ring()
	return false
}

// checkRemoval finds out whether a rule was removed, where somebody asked. What is known of one that
// went with the namespace is forgotten: its record goes, too. It tells whether that succeeded.
func (r *records) checkRemoval(ctx context.Context, id string) bool {
	r.mu.Lock()
	s := r.byID[id]
	if s == nil || s.removal != removalAsked {
		r.mu.Unlock()
		return true
	}
	object, stored := s.object, s.stored.clone()
	r.mu.Unlock()

	log := logr.FromContextOrDiscard(ctx).WithValues("rule", stored.Rule)
	stands, err := r.stands(ctx, object, stored.OnRuleDeletion == rules.DeleteChildren)
	if err != nil {
		if ctx.Err() == nil {
			log.Error(err, "a rule does not exist any more, and it is not known whether it was removed; retrying")
		}
		return false
	}
	r.mu.Lock()
	switch {
	case s.removal != removalAsked: // it exists again
	case stands:
		s.removal = removalMeant
	default:
		log.Info("a rule went with Kanon's namespace; what it made stays as it is until the rule exists again")
		delete(r.byID, id)
	}
	r.mu.Unlock()
	r.written(id)
	return true
}

// stands tells whether Kanon's namespace exists, is not being deleted, and has the record of a rule
// still. Without the record it may be another namespace of that name, which counts where something
// would be deleted.
func (r *records) stands(ctx context.Context, object *unstructured.Unstructured, deletes bool) (bool, error) {
	// First the namespace, then the record: one that is there afterwards was not deleted before.
	switch _, err := r.configMaps().Create(ctx, probeOf(r.namespace), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); {
	case apierrors.IsNotFound(err), conditions.IsTerminatingNamespace(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask whether something can be created in namespace %s: %w", r.namespace, err)
	case !deletes || object == nil:
		return true, nil
	}
	switch live, err := r.configMaps().Get(ctx, object.GetName(), metav1.GetOptions{}); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read ConfigMap %s in namespace %s: %w", object.GetName(), r.namespace, err)
	default:
		return live.GetUID() == object.GetUID(), nil
	}
}

// probeOf is a ConfigMap that is never created.
func probeOf(namespace string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"generateName": recordPrefix, "namespace": namespace},
	}}
}

// recheck has the records read again that are known: they may have gone with the namespace.
func (r *records) recheck() {
	r.mu.Lock()
	r.rechecks = true
	r.mu.Unlock()
	r.ring()
}

// recheckAll reads the records that are known, where they may not exist any more, and has those created again whose rule
// exists. It tells whether that succeeded.
func (r *records) recheckAll(ctx context.Context) bool {
	r.mu.Lock()
	due := r.rechecks
	r.mu.Unlock()
	if !due {
		return true
	}
	list, err := r.configMaps().List(ctx, metav1.ListOptions{LabelSelector: labelRecord + "=true"})
	if err != nil {
		return false
	}
	exists := make(map[types.UID]bool, len(list.Items))
	for i := range list.Items {
		exists[list.Items[i].GetUID()] = true
	}
	for id, origin := range r.lost(exists) {
		has, err := r.hasText(ctx, origin)
		if err != nil {
			return false
		}
		r.mu.Lock()
		if s := r.byID[id]; has && s != nil {
			s.object, s.sealed = nil, false
		} else {
			delete(r.byID, id)
		}
		r.mu.Unlock()
	}
	r.mu.Lock()
	r.rechecks = false
	r.mu.Unlock()
	r.written("")
	return true
}

// lost has the records that were known and are not among those that exist, with where their rules stood.
func (r *records) lost(exists map[types.UID]bool) map[string]recordedOrigin {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := make(map[string]recordedOrigin)
	for id, s := range r.byID {
		if s.object != nil && !exists[s.object.GetUID()] {
			found[id] = s.wanted.Origin
		}
	}
	return found
}

// hasText tells whether the object exists in which a rule stands. A file does.
func (r *records) hasText(ctx context.Context, origin recordedOrigin) (bool, error) {
	var err error
	switch {
	case origin.ConfigMap != "":
		_, err = r.configMaps().Get(ctx, origin.ConfigMap, metav1.GetOptions{})
	case origin.Rule != "":
		_, err = r.client.Resource(source.RulesGVR()).Namespace(origin.Namespace).Get(ctx, origin.Rule, metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
