// Package restmapping knows what the API server serves: the resource of each kind, its scope, its verbs and
// subresources. It learns this by discovery, answers from memory, and notices within a second when a kind appears,
// changes or goes away.
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
// # How it stays current
//
// Everything known is one immutable snapshot. A refresh makes the next one, with two requests if the API server has
// aggregated discovery, or one for each group version. Refreshes run one at a time. Three things cause them: a lookup
// that misses (at a limited rate), changes of CustomResourceDefinitions, which are watched without keeping their
// schemas, and changes of other API servers' APIServices. Events that come together share a refresh. Without changes,
// there are no requests but the two watches.
//
// Discovery can lag behind the definitions, above all with several API servers. So the two are compared after each
// refresh. While discovery lacks a version of an established definition, or shows one that is gone, the refresh is
// repeated, for half a minute at most.
//
// A group whose discovery fails keeps its known kinds. Kinds that a failure hides are never reported as removed.
//
// The schemas under /openapi/v3 are published separately, up to a few seconds after discovery. So a Change reports that
// a schema changed, not that it can be read already. If an aggregated API server adds a kind without a change of its
// APIService, the next miss notices it.
//
// # Without a cluster
//
// A Table has Kubernetes' own kinds, as the API server of one version serves them by default (LoadBuiltin), and those of
// CustomResourceDefinitions and OpenAPI documents. go generate writes the embedded file, kinds.txt, from the discovery of
// the tests' control plane.
package restmapping
