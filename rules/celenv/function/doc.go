// Package function has the functions that expressions can call, the cost of a call and the size of its result.
//
// A call cannot be interrupted. So each function of the environment has a declaration, which bounds a call before it
// begins: how the time grows with the arguments (CostClass), the maximum size of the result, the maximum length of a
// text argument, and a check of the arguments. A test compares the declarations with the environment, so that an update
// of cel-go cannot add a function without bounds, or another overload of one (testdata/overloads.txt).
//
//	{names{"split"}, costChecked, splits(), 0, limitSplit},
//
// This row says that split processes its whole text, that splits bounds the size of the list, and that limitSplit
// refuses calls whose list would be too long.
//
// Kanon's own functions have a file for each family: cron, json, yaml, merge, names, objectstatus, random, truncate,
// optionalif. A Function has signatures, bounds and a call. To add one, write it into its family and into the tables of
// docs/reference/functions.md.
//
//	table := function.NewTable()
//	dispatcher, err := table.Dispatcher(env) // the implementations, each within its bounds
//	table.Own("merge").Call(frame, args)
//
// If a call depends on the evaluation (the source of random text, the kinds that have a status), the function resolves
// that from the activation, by a name that no expression can contain.
package function
