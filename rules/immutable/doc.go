// Package immutable warns of computed fields that cannot follow a change of the parent, a lookup or another child:
//
//   - immutable fields of a child, such as a Job's template (immutable.go). The API server would refuse the change.
//   - the name of a child whose observed status an expression reads (renamed.go). After the name changed, the status is
//     that of the object with the earlier name.
//
// Package flow knows which fields an expression reads.
//
//	reads := &immutable.Reads{Reporter: reporter, Children: children, …}
//	reads.Note(n, fields) // for each expression
//	reads.Check(spec, child)
//	reads.CheckRenamed()
package immutable
