package kanontest

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Play plays the scenario in the namespace of a cluster. It fails the cluster's test if a step fails. It deletes the
// objects that it applied outside the namespace; the namespace is the caller's.
func (s *Scenario) Play(cluster *Cluster) {
	cluster.Helper()
	p := &play{Cluster: cluster, scenario: s, seen: map[ref]*unstructured.Unstructured{}}
	defer p.end()
	for i := range s.Steps {
		p.step = &s.Steps[i]
		p.play()
		if p.Failed() {
			return
		}
	}
}

// play is one run of a scenario.
type play struct {
	*Cluster

	scenario *Scenario
	step     *Step // the current step
	// applied are the objects that the scenario applied, in order.
	applied []*unstructured.Unstructured
	// seen are the objects as they were last awaited.
	seen map[ref]*unstructured.Unstructured
}

// ref identifies an object.
type ref struct{ apiVersion, kind, namespace, name string }

func refOf(obj *unstructured.Unstructured) ref {
	return ref{obj.GetAPIVersion(), obj.GetKind(), obj.GetNamespace(), obj.GetName()}
}

func (p *play) play() {
	p.Helper()
	for _, obj := range p.objects(p.step.Apply) {
		p.applied = append(p.applied, obj)
		p.Apply(obj)
	}
	for _, obj := range p.objects(p.step.Patch) {
		p.Patch(obj, asJSON(obj.Object))
	}
	for _, obj := range p.objects(p.step.Status) {
		p.PatchStatus(obj, asJSON(map[string]any{"status": obj.Object["status"]}))
	}
	deleted := map[types.UID]bool{}
	for _, obj := range p.objects(p.step.Delete) {
		deleted[p.Get(obj).GetUID()] = true
		p.Delete(obj)
	}
	for _, obj := range p.objects(p.step.Await) {
		p.seen[refOf(obj)] = p.Await(obj, func(live *unstructured.Unstructured) error {
			if deleted[live.GetUID()] {
				return errors.New("it is still the one that was deleted")
			}
			return mismatch(obj, live)
		})
	}
	for _, e := range p.step.Events {
		place := p.Cluster
		if e.Namespace != "" {
			place = p.In(p.TB, strings.ReplaceAll(e.Namespace, "$NAMESPACE", p.Namespace()))
		}
		place.AwaitMessage(strings.ReplaceAll(e.About, "$NAMESPACE", p.Namespace()), e.Reason, e.Message)
	}
	for _, obj := range p.objects(p.step.Gone) {
		p.AwaitGone(obj)
	}
	for _, obj := range p.objects(p.step.Unchanged) {
		p.holdUnchanged(obj)
	}
}

func (p *play) objects(given []Given) []*unstructured.Unstructured {
	p.Helper()
	objects, err := p.scenario.Objects(given, p.Namespace())
	if err != nil {
		p.Fatal(err)
	}
	return objects
}

// holdUnchanged fails the test if an object was recreated since it was last awaited, or has another spec or other data.
func (p *play) holdUnchanged(obj *unstructured.Unstructured) {
	p.Helper()
	before := p.seen[refOf(obj)]
	if before == nil {
		p.Fatalf("no step awaited %s %s before", obj.GetKind(), obj.GetName())
	}
	live := p.Get(obj)
	for _, part := range []string{"spec", "data"} {
		was, is := asJSON(before.Object[part]), asJSON(live.Object[part])
		if was == is {
			continue
		}
		if obj.GetKind() == "Secret" {
			was, is = "(hidden)", "(hidden)"
		}
		p.Errorf("%s %s was to stay as it is, and its %s has changed from %s to %s", obj.GetKind(), obj.GetName(), part, was, is)
	}
	if before.GetUID() != live.GetUID() {
		p.Errorf("%s %s was to stay, and has been created again", obj.GetKind(), obj.GetName())
	}
}

// end reports a failure, and deletes the rest of the scenario.
func (p *play) end() {
	if p.Failed() {
		p.report()
	}
	for _, obj := range p.applied {
		outside := obj.GetNamespace() != "" || !p.IsNamespaced(obj)
		if outside && obj.GetKind() != "CustomResourceDefinition" && p.IsThere(obj) {
			p.Delete(obj)
		}
	}
}
