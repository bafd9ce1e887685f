package restmapping_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"kanon.dev/kanon/restmapping"
)

// patience bounds every wait, so that what never comes fails the test instead of
// hanging it.
const patience = 30 * time.Second

// run starts a mapper that ends with the test, and waits until it is synced.
func run(t *testing.T, cfg *rest.Config) *restmapping.Mapper {
	t.Helper()
	verifyNoLeaks(t)
	mapper, err := restmapping.New(restmapping.Options{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mapper.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	select {
	case <-mapper.Synced():
	case <-time.After(patience):
		t.Fatal("the mapper does not sync")
	}
	return mapper
}

// changeLog receives what a subscriber is told.
type changeLog struct{ changes chan restmapping.Change }

func subscribe(t *testing.T, mapper *restmapping.Mapper) changeLog {
	t.Helper()
	log := changeLog{changes: make(chan restmapping.Change, 1000)}
	t.Cleanup(mapper.Subscribe(func(c restmapping.Change) { log.changes <- c }))
	return log
}

// wait waits until a change names kind in the list of that name, and tells how long
// after since that was.
func (l changeLog) wait(t *testing.T, since time.Time, list string, kind schema.GroupVersionKind) {
	t.Helper()
	l.waitFor(t, since, kind.Kind+" to be "+list, func(c restmapping.Change) bool {
		kinds := map[string][]schema.GroupVersionKind{"added": c.Added, "changed": c.Changed, "removed": c.Removed}
		return sets.New(kinds[list]...).Has(kind)
	})
}

func (l changeLog) waitFor(t *testing.T, since time.Time, what string, done func(restmapping.Change) bool) {
	t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case c := <-l.changes:
			if !done(c) {
				continue
			}
			// Told, not judged: it is to be within a second, and a machine
			// that has other things to do may need longer.
			t.Logf("%s took %s", what, time.Since(since))
			return
		case <-timeout:
			t.Fatalf("waited %s for %s", patience, what)
		}
	}
}

// definitions makes CustomResourceDefinitions in a group of its own.
type definitions struct {
	client apiextensions.Interface
	cfg    *rest.Config
	group  string
}

func newDefinitions(t *testing.T, cfg *rest.Config) definitions {
	t.Helper()
	return definitions{
		client: apiextensions.NewForConfigOrDie(cfg),
		cfg:    cfg,
		group:  "g" + suffix(t.Name()) + ".example.com",
	}
}

// suffix is a word that no other test of this run has, made of the test's name.
func suffix(test string) string {
	return fmt.Sprintf("%s%d", strings.ToLower(test), time.Now().UnixNano())
}

func (d definitions) crd(kind string) *apiextensionsv1.CustomResourceDefinition {
	plural := strings.ToLower(kind) + "s"
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + d.group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: d.group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type:       "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object"}},
				}},
			}},
		},
	}
}

func gvk(crd *apiextensionsv1.CustomResourceDefinition, version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: crd.Spec.Group, Version: version, Kind: crd.Spec.Names.Kind}
}

// create creates a definition, waits until it is established, and returns when
// that was. It is deleted with the test.
func (d definitions) create(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) time.Time {
	t.Helper()
	if _, err := d.crds().Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.crds().Delete(context.WithoutCancel(t.Context()), crd.Name, metav1.DeleteOptions{})
	})
	return d.await(t, crd.Name, func(e watch.Event) bool {
		c, ok := e.Object.(*apiextensionsv1.CustomResourceDefinition)
		if !ok {
			return false
		}
		for _, condition := range c.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true
			}
		}
		return false
	})
}

// update changes a definition and returns when that was.
func (d definitions) update(t *testing.T, name string, change func(*apiextensionsv1.CustomResourceDefinition)) time.Time {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the API server writes its conditions
		crd, err := d.crds().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(crd)
		_, err = d.crds().Update(t.Context(), crd, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return time.Now()
}

// delete deletes a definition, waits until it is gone, and returns when that was.
func (d definitions) delete(t *testing.T, name string) time.Time {
	t.Helper()
	if err := d.crds().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	list, err := d.crds().List(t.Context(), metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) == 0 {
		return time.Now()
	}
	return d.await(t, name, func(e watch.Event) bool { return e.Type == watch.Deleted })
}

// await waits for an event of a definition and returns when it came.
func (d definitions) await(t *testing.T, name string, done func(watch.Event) bool) time.Time {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := d.crds().Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if done(e) {
			return time.Now()
		}
	}
	t.Fatalf("waited %s for the definition %s", patience, name)
	return time.Time{}
}

// awaitDiscovery waits until the API server's discovery shows the kind.
func (d definitions) awaitDiscovery(t *testing.T, kind schema.GroupVersionKind) {
	t.Helper()
	poll(t, "discovery of "+kind.String(), func() bool {
		list, err := d.client.Discovery().ServerResourcesForGroupVersion(kind.GroupVersion().String())
		return err == nil && len(list.APIResources) > 0
	})
}

func (d definitions) crds() apiextensionsclient.CustomResourceDefinitionInterface {
	return d.client.ApiextensionsV1().CustomResourceDefinitions()
}

// poll waits for what has no event to wait for.
func poll(t *testing.T, what string, done func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return done(), nil
	})
	if err != nil {
		t.Fatalf("wait for %s: %v", what, err)
	}
}
