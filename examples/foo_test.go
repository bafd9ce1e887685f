package examples_test

import (
	"strings"

	"github.com/google/go-cmp/cmp"

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
	if diff := cmp.Diff(before, cluster.Get(stranger)); diff != "" {
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
