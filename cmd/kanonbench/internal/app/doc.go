// Package app is the work that every engine of the benchmark does: an App
// becomes a ConfigMap, a Service and a Deployment, and its status says the
// address of the Service. An App with extra > 0 has that many ConfigMaps more.
//
// For the operator in Go it is typed ([App], [Scheme]), for the bare loop it is
// apply configurations ([Children]), for Kanon it is a [Rule]. All three make the
// same objects:
//
//	app := app.New("bench", "web", "1", 0)
//	for _, child := range app.Children(uid) { apply(child) }
package app
