// Package record keeps what Kanon must remember of a rule across restarts.
//
// Suppose that a rule renders Deployments and Services, and that its text is changed while Kanon does not run: now it
// renders Deployments only. The new process cannot learn from the text that there are Services to delete. The rule's
// record says so. It is the ConfigMap kanon-state-<id of the rule> in Kanon's namespace:
//
//	data:
//	  record: {"format":1,"rule":"kanon-system/web", …, "revision":"5f2c…", "children":[{"version":"v1","kind":"Service"}, …]}
//	  seal: …
//
// A rule writes no object before its record has the kind of that object. The [Store] writes the records:
//
//	store := record.New(record.Options{
//		Client: client, Counter: counter, Namespace: "kanon-system", Keys: keys, Changed: changed, Annotated: annotated,
//	})
//	go store.Run(ctx)
//	store.Update(id, func(r *record.Record) { r.AddChild(deployments) })
//	// ... changed(id) was called
//	stored, ok := store.Get(id) // has the kind now
//
// Only Run sends requests, so no caller waits for the API server. Run retries what failed.
//
//   - A [Record] also says which revision of the rule may delete what it does not render: see [Record.Permit] and
//     [Record.Permits]. Package guard decides when a revision gets that permission.
//   - The seal proves that Kanon wrote the record. A record without a valid seal permits no deletion.
//   - A rule whose text is gone was removed, or it disappeared with Kanon's namespace. In the second case nobody wanted its
//     children deleted. [Store.IsRemovalMeant] distinguishes the two.
//   - For people, the record shows what the prune guard blocks. It also has the report on a rule in a file, which has no
//     object with a status.
//   - People annotate the record to ask for something about a rule in a file. [Store.Annotations] returns these annotations.
//   - A record in a later [Format] than this version knows stays as it is, and its rule does not run.
//
// What each file does:
//
//	record.go       what is remembered: kinds, revision, origin, report
//	configmap.go    a record as a ConfigMap, with its seal
//	store.go        the records of all rules, for readers and for changes
//	sync.go         reads the ConfigMaps at the start, and writes what changed
//	requests.go     the requests that Run sends
//	permission.go   which revision may delete
//	removal.go      whether a rule was removed on purpose
//	annotations.go  what people ask for by annotations on a record
//	list.go         the records as commands show them
package record
