// Package function has the functions that expressions can call: what each does, what a call costs and how much it makes.
//
// A call cannot be interrupted. So each function of the environment has a declaration, which bounds a call before it is
// made: how the time grows with the arguments (CostClass), how many bytes the value takes at most, how long a text may
// be, and which arguments are refused. A test compares the declarations with the environment, so that an update of
// cel-go cannot bring in a function without bounds, or another way to call one (testdata/overloads.txt).
//
//	{names{"split"}, costChecked, splits(), 0, limitSplit},
//
// says that split works on its whole text, makes a list as long as splits counts, and is refused by limitSplit where
// that would be too long.
//
// Kanon's own functions have a file for each family: cron, json, yaml, merge, names, objectstatus, random, truncate,
// optionalif. One is a Function: its signatures, its bounds and its call. To add one, write it into its family and
// into the tables of docs/reference/functions.md.
//
//	table := function.NewTable()
//	dispatcher, err := table.Dispatcher(env) // the implementations, each within its bounds
//	table.Own("merge").Call(frame, args)
//
// Where an evaluation has something to say in a call (the source of random text, the kinds that have a status), the
// function resolves it from the activation, under a name that no expression can contain.
package function
