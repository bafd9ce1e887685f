// Package loop is the least that can do the work: a watch of the parents, and
// for each one that is new or changed, applies of its children and a patch of its
// status. It keeps no cache, compares nothing and watches no child, so what it
// costs is mostly what the API server costs.
//
// It learns of edited children from nobody; a line on its input makes it go over
// all parents again.
//
//	err := loop.Run(ctx, config, os.Stdin, loop.Options{Workers: 16, Kinds: 1})
package loop
