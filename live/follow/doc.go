// Package follow watches objects for a command that prints each change of them, as kubectl get --watch does.
//
//	changes, err := follow.Start(ctx, resource, options)
//	list, err := resource.List(ctx, options)
//	// print the list
//	err = follow.Objects(ctx, func(change watch.EventType, object *unstructured.Unstructured) error {
//		// print the object
//		return nil
//	}, changes)
//
// A watch that the API server ends goes on where it was. An error says that it cannot: the command is to be called again.
package follow
