// Package preview evaluates a rule for one parent without a cluster. It shows what the engine would write, and what
// waits and why.
//
//	p := preview.Evaluate(ctx, preview.Input{
//		Program: program,                 // from rules.Compile
//		Parent:  webapp,
//		With:    []*unstructured.Unstructured{settings}, // what the cluster has besides
//		Now:     time.Now(),
//	})
//	err := p.Write(os.Stdout) // YAML documents, with what waits as comments
//
// The evaluation is the engine's own. In place of the answer to a write, it uses the rendered object, laid over the
// object of that kind and name in With. Fields that the API server would fill in, such as a Service's clusterIP, are
// missing unless With has them.
package preview
