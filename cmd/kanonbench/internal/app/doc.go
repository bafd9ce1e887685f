// Package app is the work that every engine of the benchmark does: an App has a ConfigMap, a Service and a Deployment
// as children, and its status has the address of the Service. An App with extra > 0 has that many more ConfigMaps.
//
// For the operator in Go, the work is typed ([App], [Scheme]); for Kanon, it is rules ([Rules]). Both make the same
// objects.
package app
