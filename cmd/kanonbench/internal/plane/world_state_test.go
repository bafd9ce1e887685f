package plane

import (
	"context"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
)

func meta(name string, version int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: app.Labels("web"), ResourceVersion: strconv.Itoa(version)}
}

func parent(version int, address string) *unstructured.Unstructured {
	u := app.New(0, "", "web", "", 0)
	u.SetResourceVersion(strconv.Itoa(version))
	u.Object["status"] = map[string]any{"clusterIP": address}
	return u
}

func configMap(name string, version int, revision string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: meta(name, version), Data: app.Data(revision, 0)}
}

func service(version int) *corev1.Service {
	return &corev1.Service{ObjectMeta: meta("web", version), Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1"}}
}

func deployment(version int, revision string) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: meta("web", version)}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Image: app.Image(revision)}}
	return d
}

func TestGoals(t *testing.T) {
	all := []client.Object{parent(9, "10.0.0.1"), configMap("web", 5, "1"), service(6), deployment(7, "1")}
	for name, test := range map[string]struct {
		seen         []client.Object
		extra        int
		spoilt       uint64
		converged    bool
		repaired     bool
		afterRemoval bool // Gone once all is deleted
	}{
		"all there":                   {seen: all, converged: true, afterRemoval: true},
		"status not yet":              {seen: append(all[1:], parent(1, "")), afterRemoval: true},
		"status of another":           {seen: append(all[1:], parent(9, "10.0.0.2")), afterRemoval: true},
		"no Service":                  {seen: []client.Object{all[0], all[1], all[3]}, afterRemoval: true},
		"old ConfigMap":               {seen: append(all, configMap("web", 8, "0")), afterRemoval: true},
		"old Deployment":              {seen: append(all, deployment(8, "0")), afterRemoval: true},
		"extra missing":               {seen: all, extra: 1, afterRemoval: true},
		"extra there":                 {seen: append(all, configMap("web-0", 8, "1")), extra: 1, converged: true, afterRemoval: true},
		"extra old":                   {seen: append(all, configMap("web-0", 8, "0")), extra: 1, afterRemoval: true},
		"spoilt after it was seen":    {seen: all, spoilt: 8, afterRemoval: true},
		"written since it was spoilt": {seen: all, spoilt: 4, converged: true, repaired: true, afterRemoval: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := new(State)
			for _, object := range test.seen {
				s.see(object, true)
			}
			s.ConfigMap.Spoilt, s.Deployment.Spoilt = test.spoilt, test.spoilt
			if got := Converged("1", test.extra)(s); got != test.converged {
				t.Errorf("converged: %t", got)
			}
			if got := Repaired("1", test.extra)(s); got != test.repaired {
				t.Errorf("repaired: %t", got)
			}
			if Gone()(s) {
				t.Error("gone while there")
			}
			for _, object := range test.seen {
				s.see(object, false)
			}
			if got := Gone()(s); got != test.afterRemoval {
				t.Errorf("gone: %t", got)
			}
		})
	}
}

func TestExpectation(t *testing.T) {
	w := &World{states: make(map[string]*State), goals: make(map[string]*Expectation)}
	present := func(s *State) bool { return s.App.Present }
	done := w.Expect([]string{"web", "other"}, present)
	w.see(parent(1, ""), true)

	soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := done.Wait(soon); err == nil {
		t.Fatal("it was fulfilled with one parent of two")
	}
	other := parent(2, "")
	other.SetLabels(app.Labels("other"))
	w.see(other, true)
	at, err := done.Wait(t.Context())
	if err != nil || at.IsZero() {
		t.Errorf("fulfilled at %s, error %v", at, err)
	}
	if len(w.goals) != 0 {
		t.Errorf("%d goals are left", len(w.goals))
	}
	// What is true already, and what is asked of nobody, is fulfilled at once.
	for _, names := range [][]string{{"web"}, nil} {
		if _, err := w.Expect(names, present).Wait(t.Context()); err != nil {
			t.Errorf("expected of %v: %v", names, err)
		}
	}
}
