// Package comparison holds five of the examples as operators in Go, written as
// kubebuilder would have them, so that docs/comparison.md counts code that
// compiles. Nothing imports them.
//
// Each package has the types, from which controller-gen generates
// zz_generated.deepcopy.go and the definition, and the reconciler. main, the
// roles and the Deployment of an operator would come to it.
package comparison
