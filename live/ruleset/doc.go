// Package ruleset has the rules of a cluster and those in files. A rule in a file replaces the installed one of the
// same name.
//
//	set := ruleset.New(ruleset.Options{Client: client, Kinds: kinds, Namespace: "kanon-system"})
//	set.AddFiles(checked)   // as package manifests has checked them
//	err := set.Refresh(ctx) // which rules the cluster has now
//	for _, rule := range set.For(ctx, object) {
//		program, mistakes, err := rule.Program(ctx)
//	}
//
// A rule is compiled once, when its program is requested, against the kinds of the cluster, as Kanon does. If Kanon
// runs a rule from a file of its own, the cluster has no text of it, and so there is no program.
package ruleset
