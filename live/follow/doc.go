// Package follow watches objects for a command that prints each change, as kubectl get --watch does.
//
//	changes, err := follow.Start(ctx, resource, options)
//	list, err := resource.List(ctx, options)
//	// print the list
//	err = follow.Objects(ctx, func(change watch.EventType, object *unstructured.Unstructured) error {
//		// print the object
//		return nil
//	}, changes)
//
// A watch that the API server closes resumes where it ended. An error reports that it cannot: the user has to call the
// command again.
package follow
