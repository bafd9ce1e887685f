// Package source reads rule documents from where people put them and tells how
// they fared.
//
// A source publishes snapshots: each holds everything that the source has at
// that moment, grouped by origin (one ConfigMap, or one file). Whoever reads
// snapshots needs no memory of earlier ones, and a document that left is
// simply not there any more. A source that cannot read an origin keeps
// what it knew of it, so that a failed read is never taken for an empty one.
//
//	files, err := source.NewFiles("rules/")
//	if err != nil {
//		return err
//	}
//	err = files.Run(ctx, func(s source.Snapshot) {
//		for _, bundle := range s.Bundles {
//			for _, text := range bundle.Texts {
//				fmt.Println(text.Name, len(text.Data))
//			}
//		}
//	})
//
// The texts are not looked into: decoding, compiling and running them is the
// caller's work, and so is the verdict, which goes back by Report.
package source
