// Command controlplane runs a complete Kubernetes control plane on loopback,
// with nothing but this one binary: no container runtime, no kubelet, no
// download. The demo and the tests run on it.
//
// Every component is the real one, linked in and run as a child process of
// the same binary:
//
//	etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl
//
// and two small ones of its own stand beside them:
//
//	garbage-collector   Kubernetes' garbage collector, told of new kinds at once
//	kwok                fake nodes on which Pods become Ready and Jobs complete
//
// # Example
//
// Start one, wait for the line "ready", use it, and end it with Ctrl-C:
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
// A benchmark wants as little as possible beside the API server:
//
//	controlplane up --kubeconfig F --nodes 0 --controllers garbage-collector,namespace
//
// # Processes
//
// Standard input of each child is a pipe that only `up` holds open for
// writing. When `up` ends, however it ends, the kernel closes that pipe and the
// children exit at the end of their input. The same flag, --until-stdin-closes,
// binds `up` itself to the life of whoever started it.
//
// A symbolic link to the binary that is named like one of the components (for
// example kubectl) runs that component.
package main
