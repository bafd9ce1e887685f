// Command controlplane runs a complete Kubernetes control plane on loopback from this single binary, without a
// container runtime, a kubelet or downloads. The demo and the tests run on it.
//
// Every component is the real one, linked into the binary and run as a child process:
//
//	etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl
//
// There are two small components of its own:
//
//	garbage-collector   Kubernetes' garbage collector, which learns of new kinds immediately
//	kwok                fake nodes on which Pods become Ready and Jobs complete
//
// # Example
//
// Start it, wait for the line "ready", use it, and stop it with Ctrl-C:
//
//	$ controlplane up --kubeconfig /tmp/demo.kubeconfig &
//	ready
//	$ export KUBECONFIG=/tmp/demo.kubeconfig
//	$ controlplane kubectl create deployment web --image=nginx --replicas=3
//	deployment.apps/web created
//	$ controlplane kubectl get deployment web
//	NAME   READY   UP-TO-DATE   AVAILABLE   AGE
//	web    3/3     3            3           1s
//	$ kill %1
//
// For a benchmark, run as little as possible beside the API server:
//
//	controlplane up --kubeconfig F --nodes 0 --controllers garbage-collector,namespace
//
// Run a command beside it, and end with it, with its success or failure:
//
//	controlplane up --kubeconfig F -- kubectl --kubeconfig F get nodes
//
// # Processes
//
// Standard input of each child is a pipe that only `up` holds open for writing. However `up` ends, the kernel then
// closes the pipe, and the children exit at the end of their input. The flag --until-stdin-closes does the same for
// `up` itself.
//
// A symbolic link to the binary with the name of a component, such as kubectl, runs that component.
package main
