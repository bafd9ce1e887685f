package engine_test

import (
	"cmp"
	"context"
	"maps"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
)

// Every engine and the API server itself work on each definition that is installed. So a group with its kinds serves one
// test after the other, each of which has it for itself. A test that installs or changes definitions spoils its group,
// which is then removed.

// group is an API group with custom kinds.
type group struct {
	name string
	// pool is where it is while no test has it: one for each API server and set of kinds.
	pool string
	// installed has the definitions in their usual form, by kind.
	installed map[string]*unstructured.Unstructured
}

// groups are those that no test has at present, by pool.
var groups = struct {
	mu   sync.Mutex
	free map[string][]*group // guarded by mu
}{free: make(map[string][]*group)}

// takeGroup returns a group, perhaps a new one whose kinds are not installed, that no other test has until it is given
// back.
func takeGroup(server string, kinds []string) *group {
	pool := strings.Join(append([]string{server}, kinds...), " ")
	groups.mu.Lock()
	defer groups.mu.Unlock()
	free := groups.free[pool]
	if len(free) == 0 {
		return &group{name: "t" + rand.String(8) + ".example.com", pool: pool, installed: make(map[string]*unstructured.Unstructured)}
	}
	groups.free[pool] = free[:len(free)-1]
	return free[len(free)-1]
}

// giveGroupBack removes the objects of the world's custom kinds, whoever made them. The next test has the group if it is
// as a test expects it; otherwise its definitions are removed, too.
func (w *world) giveGroupBack() {
	ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own has ended
	defer cancel()
	list, err := w.client.Resource(crds).List(ctx, metav1.ListOptions{})
	if err != nil {
		w.t.Errorf("list definitions: %v", err)
		return
	}
	usual := 0
	var found []*unstructured.Unstructured
	for _, definition := range list.Items {
		if !strings.HasSuffix(definition.GetName(), "."+w.group) {
			continue
		}
		found = append(found, &definition)
		if sameDefinition(w.leased.installed[field(&definition, "spec", "names", "kind").(string)], &definition) {
			usual++
		}
		if err := w.removeObjects(ctx, &definition); err != nil {
			w.t.Errorf("remove the objects of %s: %v", definition.GetName(), err)
		}
	}
	if usual == len(found) && usual == len(w.leased.installed) {
		groups.mu.Lock()
		defer groups.mu.Unlock()
		groups.free[w.leased.pool] = append(groups.free[w.leased.pool], w.leased)
		return
	}
	for _, definition := range found {
		err := w.client.Resource(crds).Delete(ctx, definition.GetName(), metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			w.t.Errorf("remove %s: %v", definition.GetName(), err)
		}
	}
}

// sameDefinition reports whether nobody but the API server has changed a definition.
func sameDefinition(was, is *unstructured.Unstructured) bool {
	return was != nil && was.GetUID() == is.GetUID() && was.GetGeneration() == is.GetGeneration() &&
		is.GetDeletionTimestamp() == nil && maps.Equal(was.GetLabels(), is.GetLabels()) &&
		maps.Equal(was.GetAnnotations(), is.GetAnnotations()) && equality.Semantic.DeepEqual(was.GetFinalizers(), is.GetFinalizers())
}

// removeObjects removes the objects of a definition, with their finalizers, which no engine removes any more. The API
// server has five workers for definitions that are deleted, and each waits up to a minute for the objects: five tests that
// left some would hold up every other test that deletes a kind.
func (w *world) removeObjects(ctx context.Context, definition *unstructured.Unstructured) error {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	resource := schema.GroupVersionResource{Group: w.group, Resource: field(definition, "spec", "names", "plural").(string)}
	for _, version := range versions {
		if version := version.(map[string]any); version["served"] == true {
			resource.Version = cmp.Or(resource.Version, version["name"].(string))
		}
	}
	objects, err := w.client.Resource(resource).List(ctx, metav1.ListOptions{})
	if notServedYet(err) {
		return nil // or not any more
	}
	if err != nil {
		return err
	}
	for _, object := range objects.Items {
		client := w.at(resource, object.GetNamespace())
		if len(object.GetFinalizers()) > 0 {
			_, err := client.Patch(ctx, object.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		background := metav1.DeletePropagationBackground
		err := client.Delete(ctx, object.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
