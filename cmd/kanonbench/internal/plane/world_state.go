package plane

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kanon.dev/kanon/cmd/kanonbench/internal/app"
)

// Sight is the last known state of an object.
type Sight struct {
	Present bool
	// Version is the resource version, which increases with every write.
	Version uint64
	// Value is the value to compare: an App's status, a ConfigMap's revision, a Service's address, a Deployment's
	// image.
	Value string
	// Spoilt is the resource version of the last edit by Spoil, or 0.
	Spoilt uint64
}

// State is the last known state of a parent and its children.
type State struct {
	App, ConfigMap, Service, Deployment Sight
	// Extra are the revisions of the extra ConfigMaps, by name.
	Extra map[string]string
}

// Goal reports whether a parent has reached a state.
type Goal func(*State) bool

// Converged is the goal that a parent and all its children, including extra ConfigMaps, are at a revision, and that
// edits by Spoil have been overwritten.
func Converged(revision string, extra int) Goal {
	image := app.Image(revision)
	return func(s *State) bool {
		if !s.App.Present || !s.ConfigMap.Present || !s.Service.Present || !s.Deployment.Present || len(s.Extra) != extra {
			return false
		}
		for _, value := range s.Extra {
			if value != revision {
				return false
			}
		}
		return s.ConfigMap.Value == revision && s.Deployment.Value == image &&
			s.Service.Value != "" && s.App.Value == s.Service.Value &&
			(s.ConfigMap.Spoilt == 0 || s.ConfigMap.Version > s.ConfigMap.Spoilt) &&
			(s.Deployment.Spoilt == 0 || s.Deployment.Version > s.Deployment.Spoilt)
	}
}

// Repaired is Converged for a parent whose children Spoil has edited.
func Repaired(revision string, extra int) Goal {
	converged := Converged(revision, extra)
	return func(s *State) bool { return s.ConfigMap.Spoilt > 0 && s.Deployment.Spoilt > 0 && converged(s) }
}

// Gone is the goal that nothing is left.
func Gone() Goal {
	return func(s *State) bool {
		return !s.App.Present && !s.ConfigMap.Present && !s.Service.Present && !s.Deployment.Present && len(s.Extra) == 0
	}
}

// see records an object, which is present or was just deleted.
func (s *State) see(object client.Object, present bool) {
	switch o := object.(type) {
	case *unstructured.Unstructured:
		address, _, _ := unstructured.NestedString(o.Object, "status", "clusterIP")
		s.App.see(o, address, present)
	case *corev1.Service:
		s.Service.see(o, o.Spec.ClusterIP, present)
	case *appsv1.Deployment:
		image := ""
		if containers := o.Spec.Template.Spec.Containers; len(containers) == 1 {
			image = containers[0].Image
		}
		s.Deployment.see(o, image, present)
	case *corev1.ConfigMap:
		if o.Name == o.Labels[app.Label] {
			s.ConfigMap.see(o, o.Data[app.RevisionKey], present)
			return
		}
		if !present {
			delete(s.Extra, o.Name)
			return
		}
		if s.Extra == nil {
			s.Extra = make(map[string]string)
		}
		s.Extra[o.Name] = o.Data[app.RevisionKey]
	}
}

func (s *Sight) see(object client.Object, value string, present bool) {
	s.Present, s.Version, s.Value = present, versionOf(object), value
	if !present {
		s.Spoilt, s.Value = 0, ""
	}
}

// versionOf is the resource version of an object as a number.
func versionOf(object client.Object) uint64 {
	n, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64) // the API server uses only numbers
	return n
}

// reduce is a cache transform that drops what see does not need.
func reduce(object any) (any, error) {
	if o, is := object.(client.Object); is {
		o.SetManagedFields(nil)
		o.SetOwnerReferences(nil)
		o.SetAnnotations(nil)
	}
	if o, is := object.(*corev1.ConfigMap); is {
		delete(o.Data, app.BulkKey)
	}
	return object, nil
}
