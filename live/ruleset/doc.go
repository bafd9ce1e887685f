// Package ruleset is all rules that somebody asks about: those of a cluster, and those in files, which stand for installed ones of the
// same name.
//
//	set := ruleset.New(ruleset.Options{Client: client, Kinds: kinds, Namespace: "kanon-system"})
//	set.AddFiles(checked)   // as package manifests has checked them
//	err := set.Refresh(ctx) // which rules the cluster has now
//	for _, rule := range set.For(ctx, object) {
//		program, mistakes, err := rule.Program(ctx)
//	}
//
// A rule is compiled once, when its program is asked for, against the kinds of the cluster, as Kanon does. Where Kanon runs it from a
// file of its own, the cluster has no text of it, and so it has no program here.
package ruleset
