package comparison_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kanon.dev/kanon/cmd/kanonbench/comparison/bluegreen"
	"kanon.dev/kanon/cmd/kanonbench/comparison/catset"
	"kanon.dev/kanon/cmd/kanonbench/comparison/crdroles"
	"kanon.dev/kanon/cmd/kanonbench/comparison/database"
	"kanon.dev/kanon/cmd/kanonbench/comparison/foo"
)

// The operators that docs/comparison.md counts compile, and a scheme knows their kinds.
func TestOperators(t *testing.T) {
	t.Parallel()
	_ = []reconcile.Reconciler{
		&foo.Reconciler{}, &database.Reconciler{}, &bluegreen.Reconciler{}, &catset.Reconciler{}, &crdroles.Reconciler{},
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		foo.AddToScheme, database.AddToScheme, bluegreen.AddToScheme, catset.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for _, object := range []client.Object{&foo.Foo{}, &database.Database{}, &bluegreen.BlueGreen{}, &catset.CatSet{}} {
		if kinds, _, err := scheme.ObjectKinds(object); err != nil || len(kinds) != 1 {
			t.Errorf("%T: %v, %v", object, kinds, err)
		}
	}
}
