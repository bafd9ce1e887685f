// Package immutable finds what a change of a parent, a lookup or another child breaks, because a field cannot follow it: a field of
// a child that the API server lets nobody change, such as a Job's template, and the name of a child, with which an expression that
// reads the status of its observed object reads that of an object with an earlier name.
//
//	reads := &immutable.Reads{Reporter: reporter, Children: children, …}
//	reads.Note(n, fields) // for each expression
//	reads.Check(spec, child)
//	reads.CheckRenamed()
//
// Which fields an expression reads is package flow's.
package immutable
