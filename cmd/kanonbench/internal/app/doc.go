// Package app is the work that every engine of the benchmark does: an App has a ConfigMap, a Service and a Deployment
// as children, and its status has the address of the Service. An App with extra > 0 has that many more ConfigMaps.
//
// For the operator in Go, the work is typed ([App], [Scheme]); for the bare loop, it is apply configurations
// ([Children]); for Kanon, it is rules ([Rules]). All three make the same objects:
//
//	parent := app.New(0, "bench", "web", "1", 0)
//	children := parent.Children(0, 0)
package app
