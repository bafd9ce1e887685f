package examples_test

import (
	"strings"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/internal/kanontest"
)

// fooMeetsStranger: a Deployment that is not the Foo's is left as it is, the Foo
// says so, and gets its own when the stranger goes.
func fooMeetsStranger(cluster *kanontest.Cluster) {
	stranger := kanontest.Object(cluster, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: taken}
spec:
  replicas: 0
  selector: {matchLabels: {app: stranger}}
  template:
    metadata: {labels: {app: stranger}}
    spec: {containers: [{name: main, image: example.com/stranger}]}
`)
	cluster.Apply(stranger)
	before := cluster.AwaitMatch(kanontest.Object(cluster, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: taken}
status: {observedGeneration: 1}
`))

	cluster.Apply(kanontest.Object(cluster, `
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: latecomer}
spec: {deploymentName: taken, replicas: 2}
`))
	cluster.AwaitMatch(kanontest.Object(cluster, `
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: latecomer}
status:
  conditions:
  - {type: Ready, status: "False", reason: NameTaken}
  - {type: Stalled, status: "True", reason: NameTaken}
`))
	if said := cluster.AwaitEvent("latecomer", "NameTaken"); !strings.Contains(said, "taken") {
		cluster.Errorf("the Event says %q, want the name of the Deployment in it", said)
	}
	// Its status, and a revision in its annotations, are the Deployment controller's.
	after := cluster.Get(stranger)
	for _, e := range after.GetManagedFields() {
		if strings.HasPrefix(e.Manager, "kanon") {
			cluster.Errorf("the Deployment of somebody else was touched: %s has %s", e.Manager, e.FieldsV1)
		}
	}
	for _, it := range []*unstructured.Unstructured{before, after} {
		unstructured.RemoveNestedField(it.Object, "status")
		it.SetAnnotations(nil)
		it.SetManagedFields(nil)
		it.SetResourceVersion("")
	}
	if diff := cmp.Diff(before, after); diff != "" {
		cluster.Errorf("the Deployment of somebody else was touched (-before +after):\n%s", diff)
	}

	cluster.Delete(stranger)
	cluster.AwaitMatch(kanontest.Object(cluster, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: taken
  ownerReferences: [{apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, name: latecomer, controller: true}]
spec: {replicas: 2}
`))
	cluster.AwaitMatch(kanontest.Object(cluster, `
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: latecomer}
status:
  availableReplicas: 2
  conditions:
  - {type: Ready, status: "True"}
`))
}
