// Package restmapping tells what the API server has: which resource serves a
// kind, in which scope, with which verbs and subresources. It learns by discovery,
// answers from memory, and notices within a second when a kind appears, changes or
// goes away.
//
//	mapper, err := restmapping.New(restmapping.Options{Config: config})
//	if err != nil {
//		return err
//	}
//	cancel := mapper.Subscribe(func(c restmapping.Change) {
//		for _, gvk := range c.Added {
//			queue.Add(gvk) // start the rules that waited for this kind
//		}
//	})
//	defer cancel()
//	go func() { done <- mapper.Run(ctx) }()
//	<-mapper.Synced()
//
//	kind, err := mapper.Kind(ctx, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
//	switch {
//	case errors.Is(err, restmapping.ErrUnknownKind): // the cluster does not have it
//	case errors.Is(err, restmapping.ErrUnavailable): // it may have it: try later, delete nothing
//	case err == nil:
//		client.Resource(kind.GVR)
//	}
//
// # How it stays right
//
// Everything known is one immutable snapshot. A refresh makes the next one: two
// requests where aggregated discovery is served, else one for each group version.
// Refreshes run one at a time. They are caused by a lookup that misses (at a
// limited rate), by CustomResourceDefinitions, which are watched without keeping
// their schemas, and by APIServices of other API servers. Events that come together
// share a refresh. At rest there is no request but the two watches.
//
// Discovery can lag behind the definitions, most of all where several API servers
// share the work. So after a refresh the two are compared, and while discovery lacks
// an established definition's version, or shows one that is gone, it is asked again,
// for half a minute at most.
//
// A group whose discovery fails keeps the kinds that were known of it. What a failure
// hides is never reported as removed.
//
// The schemas under /openapi/v3 are published apart from discovery, up to a few
// seconds later; a Change says that a schema changed, not that it can be read
// already. An aggregated API server that adds a kind without a change of its
// APIService is noticed at the next miss.
package restmapping
