// Command kanon turns rules written in YAML into running Kubernetes operators.
//
//	kanon run --kubeconfig ~/.kube/config --rules rules/
//
// See kanon --help.
package main
