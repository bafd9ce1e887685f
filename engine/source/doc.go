// Package source reads rule documents from where people put them, and writes the reports on them back.
//
// A source publishes snapshots. Each has everything that the source has at that moment, grouped by origin: one
// ConfigMap, one Rule object or one file. A reader of snapshots needs no memory of earlier ones: a document that was
// removed is simply missing. If an origin cannot be read, the source keeps what it knew of it, so that a failed read
// is never mistaken for an empty origin.
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
// Sources do not parse the texts. The caller decodes, compiles and runs them, and passes the result to Report, which
// ConfigMaps and RuleObjects have; a file has no object to report on.
//
// What each file does:
//
//	source.go       origins, texts, snapshots and reports
//	configmaps.go   rules in ConfigMaps
//	ruleobjects.go  rules in Rule objects, while the cluster has that kind
//	files.go        rules in files
//	objects.go      what ConfigMaps and Rule objects have in common
//	list.go         the rules of a cluster, read once for a command
package source
