// Package manifests reads what stands in files: rules, the CustomResourceDefinitions beside them, and objects. It checks the rules
// and makes programs of them, as the engine does, for the commands that work without a cluster.
//
//	files, err := manifests.Read([]string{"rules/"}, os.Stdin)
//	kinds, err := manifests.BuiltinKinds()
//	checked, err := manifests.Check(ctx, files, nil, kinds, rules.Options{})
//	if checked.Findings.HasErrors() {
//		// print them: they have file, line and column
//	}
//	defaults, err := definitions.NewKinds(checked.CRDs)
//	defaults.Fill(parent) // as the API server does when the parent is written
//
// files.go reads files and directories, objects.go takes objects out of them, kinds.go knows which kinds there are, and check.go
// compiles. twice.go finds definitions that stand in the files twice and differ, held.go those that Kanon would not apply to a
// cluster, and fix.go makes the fixes of findings.
package manifests
