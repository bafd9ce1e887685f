// Package flow knows what the expressions of a rule read, and what follows from that: what must exist first, which conditions ensure
// that it does, and in which order children can be rendered. It compiles nothing and knows no schemas.
//
// An expression that reads field after field is a [Path]. [PathOf] splits any expression into its steps:
//
//	p := flow.PathOf(e)    // lookups.db.?status.host
//	p.RootName()           // "lookups"
//	p.Names()              // lookups, db, status, host
//	p.Steps[1].Optional    // true: .?status
//
// What a part of a rule reads is its [Uses]: the nodes, each a [Ref], and the fields. It includes what its variables and lookups read:
//
//	var u flow.Uses
//	u.Follow(variable, pos, nil) // the part reads what the variable reads
//
// A part that is evaluated under a condition has a [Guard]. It ensures that another node exists if it tests for the node, or has all
// terms of the node's own condition:
//
//	children:
//	- {id: a, when: "${parent.spec.on}", …}
//	- {id: b, when: "${parent.spec.on && parent.spec.b}", …} # may read children.a
//
// [Analyze] visits one expression and finds its Uses, the [Origin] of its value, and what follows if a read finds nothing: what comes
// from children, lookups, observed, self or the parent's status fills in later; what comes from anywhere else does not. It reports names
// that do not exist, and values that change with every second or are random where they must not. [Names] resolves the names, and
// compiles variables and lookups on the way.
//
// What each file does:
//
//	analysis.go  visits an expression
//	members.go   visits what it reads of a name, and knows where a value comes from and whether it changes with the time
//	path.go      paths such as children.a.status, where they are written, and names that do not exist
//	uses.go      what a part of a rule reads, under which conditions, and in which order; the fields that it sets
package flow
