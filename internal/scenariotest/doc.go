// Package scenariotest plays what happens to an operator, as a file tells it, against a cluster in which the operator runs.
//
//	steps:
//	- name: a Foo becomes a Deployment
//	  apply: [parent.yaml]                     # objects, or files with some
//	  await:                                   # fields that objects get
//	  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: example-foo}, spec: {replicas: 1}}
//	- name: a Deployment that somebody deletes is created again
//	  delete: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: example-foo}}]
//	  await: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: example-foo}}]
//	- name: it goes with the Foo
//	  delete: [parent.yaml]
//	  gone: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: example-foo}}]
//
// Nothing sleeps: each wait is a watch with a bound. An object that a step deletes and awaits is a new one, with another
// UID. $NAMESPACE stands for the namespace of the scenario, which objects without a namespace are in. What fails names the step
// and what is missing, and shows the conditions and Events of what the scenario applied.
//
//	scenario, err := scenariotest.Read("examples/foo")
//	scenario.Play(cluster)                       // a *kanontest.Cluster
//
// scenario.go reads the file, play.go plays it, and report.go says what a cluster has when it fails. example.go reads the folders of
// examples/, says which rights their rules need, and plays all of them.
package scenariotest
