package apply

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	clientopenapi "k8s.io/client-go/openapi"

	"kanon.dev/kanon/engine/apply/applytest"
	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/restmapping/openapi"
)

// BenchmarkChild measures what a Deployment costs without any request: to prepare it, and to see that it is in sync by
// comparison (a Writer that wrote it) and by the cover check (a restart).
func BenchmarkChild(b *testing.B) {
	config := controlplanetest.Config(b)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		b.Fatal(err)
	}
	w := New(Options{Server: NewAPI(client, openapi.NewPublished(clientopenapi.NewClientWithContext(discoveryClient.RESTClient())), applytest.NoStatus), Marks: testMarks(), NameOf: func(string) string { return "" }, IsGone: func(mark.Owner) bool { return false }})
	rendered := object(b, deployment)
	rendered.SetNamespace(controlplanetest.Namespace(b, config))
	owner := testOwner()
	prepare := func(controller *metav1.OwnerReference) *Child {
		c, err := w.Prepare(b.Context(), wanted(rendered, owner, controller, fieldset.Policy{}))
		if err != nil {
			b.Fatal(err)
		}
		return c
	}
	c := prepare(nil) // the parent is not there, and the child would be collected
	live, err := client.Resource(resourceOf(c.Object)).Namespace(rendered.GetNamespace()).
		Create(b.Context(), c.Object, metav1.CreateOptions{FieldManager: fieldset.Manager})
	if err != nil {
		b.Fatal(err)
	}
	live = compact(live)
	w.remember(c, live)

	b.Run("prepare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			prepare(controllerOf(owner.Parent))
		}
	})
	b.Run("glance", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !unchanged(w, wanted(rendered, owner, nil, fieldset.Policy{}), live) {
				b.Fatal("changed")
			}
		}
	})
	b.Run("compare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !inSync(w, c, live) {
				b.Fatal("not in sync")
			}
		}
	})
	changed := rendered.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, int64(7), "spec", "replicas"); err != nil {
		b.Fatal(err)
	}
	other, err := w.Prepare(b.Context(), wanted(changed, owner, nil, fieldset.Policy{}))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("put", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := other.withValues(live); !ok {
				b.Fatal("it is applied")
			}
		}
	})
	b.Run("cover", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Covered(live)
		}
	})
}
