// Package loop does the work with the least effort. It watches the parents, and for each new or changed one applies the
// children and patches the status. It keeps no cache, compares nothing and watches no children, so it costs little more
// than the API server does.
//
// It does not notice edited children. A line on its input makes it reconcile all parents.
//
//	err := loop.Run(ctx, config, os.Stdin, loop.Options{Workers: 16, Kinds: 1})
package loop
