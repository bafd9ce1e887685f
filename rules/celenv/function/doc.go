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
//
// What each file does:
//
//	function.go      a function of Kanon: signatures, bounds, call
//	table.go         all functions
//	dispatcher.go    their implementations, each within its bounds
//	libraries.go     the libraries of cel-go and Kubernetes
//	declaration.go   the bounds of a function; declarations.go has those of cel-go and Kubernetes
//	bounds.go        bounds of results
//	limits.go        checks of arguments
//	arithmetic.go    operators between integers and doubles
//	regex.go         regular expressions within bounds
//	sets.go          set functions that take no quadratic time
//	cron.go          cron: the next, the previous, and whether one lies between
//	json.go          toJson, fromJson
//	yaml.go          toYaml, fromYaml
//	merge.go         merge, deepMerge
//	names.go         sha256, dnsName
//	objectstatus.go  kstatus, ready
//	optionalif.go    optionalIf
//	random.go        random
//	truncate.go      truncate, for times
//	unfit.go         names the text that a conversion cannot read
package function
