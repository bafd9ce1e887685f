// Package record keeps what Kanon must know of a rule after a restart.
//
// Suppose that a rule made Deployments and Services, and that its text is changed while Kanon does not run: it makes
// Deployments only. The new process cannot learn from the text that there are Services to delete. The rule's record says so.
// It is a ConfigMap kanon-state-<id of the rule> in Kanon's namespace:
//
//	data:
//	  record: {"format":1,"rule":"kanon-system/web", …, "revision":"5f2c…", "children":[{"version":"v1","kind":"Service"}, …]}
//	  seal: …
//
// A rule writes nothing before its record has the kinds that it is about to write. The [Store] brings that about:
//
//	store := record.New(record.Options{Client: client, Namespace: "kanon-system", Keys: keys, Changed: changed})
//	go store.Run(ctx)
//	store.Update(id, func(r *record.Record) { r.AddChild(deployments) })
//	// ... changed(id) was called
//	stored, ok := store.Get(id) // has the kind now
//
// Only Run sends requests, so no caller waits for the API server. Run tries again what failed.
//
//   - A [Record] also says which revision of the rule may delete what it does not render: [Record.Permit] and
//     [Record.Permits]. Package guard decides when a revision gets that permission.
//   - The seal proves that Kanon wrote the record. A record without such a seal permits no deletion.
//   - A rule whose text is gone was removed, or it went with Kanon's namespace. In the second case nobody meant its children
//     to be deleted. [Store.IsRemovalMeant] tells the two apart.
//   - For people, the record says what the prune guard blocks, and how a rule in a file fares, which has no object with a status.
//   - For people, too, its annotations ask for something about a rule in a file: [Store.Annotations] has them, once [Store.Follow] was
//     called as they are now.
//   - A record of a later [Format] than this version knows stays as it is, and its rule does not run.
package record
