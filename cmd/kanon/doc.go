// Command kanon turns rules written in YAML into running Kubernetes operators.
//
//	kanon run --kubeconfig ~/.kube/config --rules rules/
//
// See kanon --help. Each file has a command with its flags and order of steps; root.go lists them all. Their
// help is in docs/reference/commands. The packages in author/ do the work, and package manager runs rules.
package main
