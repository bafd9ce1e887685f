// Package preview shows what one reconcile of a parent does, without a cluster: what the engine would write, and what
// waits and why.
//
//	p, err := preview.Evaluate(ctx, preview.Input{
//		Program: program,                 // from rules.Compile
//		Parent:  webapp,
//		With:    []*unstructured.Unstructured{settings}, // what the cluster has besides
//		Now:     time.Now(),
//	})
//	err = p.Write(os.Stdout) // YAML documents, with what waits as comments
//
// The reconcile is the engine's own, in an API in memory (package memory). Fields that the API server would fill in, such as
// a Service's clusterIP, are missing unless With has them. An object that is recreated is gone at once, and the preview
// shows the new one.
package preview
