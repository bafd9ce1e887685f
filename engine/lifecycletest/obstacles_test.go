package lifecycletest_test

import (
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

func (s *sequence) unblockAll() error {
	for id, t := range s.model.tracks {
		if t.blocked {
			if err := s.unblock(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// unblock takes the foreign finalizer from an object.
func (s *sequence) unblock(id identity) error {
	s.note("free %s", id)
	s.model.tracks[id].blocked = false
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := s.lane.at(id.kind, id.namespace).Get(s.lane.t.Context(), id.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		live.SetFinalizers(slices.DeleteFunc(live.GetFinalizers(), func(f string) bool { return f == foreignFinalizer }))
		_, err = s.lane.at(id.kind, id.namespace).Update(s.lane.t.Context(), live, metav1.UpdateOptions{FieldManager: "somebody"})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

func (s *sequence) removeStrangers() error {
	for id := range s.model.strangers {
		if err := s.delete(id, metav1.DeletePropagationBackground); err != nil {
			return err
		}
		s.note("the stranger %s goes", id)
		delete(s.model.strangers, id)
	}
	for id, t := range s.model.tracks {
		if t.doubtful {
			if err := s.delete(id, metav1.DeletePropagationBackground); err != nil {
				return err
			}
			t.doubtful, t.steady = false, false
		}
	}
	return nil
}
