// Package scenariotest plays a scenario from a file against a cluster in which an operator runs.
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
// Nothing sleeps: each wait is a watch with a limit. If a step deletes an object and awaits it, the object must be a
// new one, with another UID. $NAMESPACE stands for the namespace of the scenario, which is also that of objects without
// one. A failure names the step and what is missing, and shows the conditions and Events of the applied objects.
//
//	scenario, err := scenariotest.Read("examples/foo")
//	scenario.Play(cluster)                       // a *kanontest.Cluster
//
// scenario.go reads the file, play.go plays it, and report.go reports the state of the cluster after a failure.
// example.go reads the folders of examples/, computes the rights that their rules need, and plays all of them.
package scenariotest
