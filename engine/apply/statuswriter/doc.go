// Package statuswriter writes what one field manager has to say in the status of an object, and decides without a request whether
// a write is needed.
//
//	w := statuswriter.New(server.New(dynamicClient, schemas, hasStatus))
//	s := statuswriter.Status{GVR: gvr, Object: parent, Manager: "kanon-status-x", Content: map[string]any{"url": url}, Subresource: true}
//	live, written, err := w.Sync(ctx, s)
//
// A status is in place while the manager holds exactly the paths of its content, and the object has its values (insync.go). Such
// verdicts are remembered by all that they depend on (settled.go). Anything else is one server-side apply; in kinds that take
// the conditions for one value, they are placed by JSON patch (writer.go).
//
//   - yield.go leaves to other managers what they hold with another value.
//   - held.go knows what the manager holds, and what others do.
//   - misfit.go removes what the manager once set and the kind's schema has another type for by now.
package statuswriter
