// Package statuswriter writes what one field manager sets in the status of an object, and decides without a request
// whether a write is needed.
//
//	w := statuswriter.New(server.New(dynamicClient, schemas, hasStatus))
//	s := statuswriter.Status{GVR: gvr, Object: parent, Manager: "kanon-status-x", Content: map[string]any{"url": url}, Subresource: true}
//	live, written, err := w.Sync(ctx, s)
//
// A status is in place if the manager owns exactly the paths of its content and the object has its values
// (insync.go). Positive results are cached by everything that they depend on (settled.go). Otherwise Sync sends one
// server-side apply. In kinds that treat the conditions as one value, they are written by JSON patch (writer.go).
//
//   - yield.go leaves fields to other managers that own them with another value.
//   - owned.go determines what the manager owns, and what others own.
//   - misfit.go removes values that the manager once set and that no longer fit the kind's schema.
package statuswriter
