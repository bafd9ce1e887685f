// Package preview evaluates a rule for one parent without a cluster: it shows
// what the engine would write, what waits and why.
//
//	p := preview.Evaluate(ctx, preview.Input{
//		Program: program,                 // from rules.Compile
//		Parent:  webapp,
//		With:    []*unstructured.Unstructured{settings}, // what the cluster has besides
//		Now:     time.Now(),
//	})
//	err := p.Write(os.Stdout) // YAML documents, with what waits as comments
//
// The evaluation is the engine's own. What a write would answer is taken for the
// rendered object, laid over the one in With of that kind and name: what With does
// not say and the API server would fill in, such as a Service's clusterIP, is not
// there yet.
package preview
