// Package manifests reads files with rules, CustomResourceDefinitions and objects. For the commands that work without a
// cluster, it checks and compiles the rules as the engine does.
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
// files.go reads files and directories, objects.go decodes objects, kinds.go knows the kinds with their schemas, and
// check.go compiles. files.go finds definitions that occur twice and differ, refuseddefinitions.go those that Kanon
// would not apply to a cluster, and fix.go applies the fixes of findings. report.go writes findings in several formats.
//
// rights.go computes the rights that rules need, by the table in README.md under "What your rules need". roles.go
// writes them as roles, and rights.go asks an API server whether an identity has them. scaffold.go makes the files of a
// new rule.
package manifests
