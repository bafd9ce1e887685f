// Package operator decides which rules run on this cluster and how. An Operator is a rule with its Plan, which does not
// change, and its progress in starting. A Set is an immutable snapshot of all of them. Running has the newest Set, which
// handlers and workers read without a lock:
//
//	for _, run := range planner.Runs(catalog, catalog.Rules()) { // Removal is nil for a rule that runs as written
//		op, err := operator.New(run.ID, run.Name, run.Program, mapper, previous)
//		...
//	}
//	running.Store(operator.NewSet(ops))
//
//	for _, op := range running.Load().ByKey[event.Key] { // the operators that need this informer
//		...
//	}
//	op := running.Get(key.Rule) // nil if the rule does not run
//
// Work for an Operator may end after the Operator was replaced. What is stored by the rule's id then belongs to its
// successor. [Running.IsCurrent] tells the two apart.
//
// A Plan says where in the cluster the objects of a compiled rule are, and how each of its nodes is treated. It belongs
// to one revision of a rule and to the kinds that the cluster had when it was made: [Plan.IsOutdated].
//
// The Planner decides, from the texts and the records of rules that ran, which rules were removed. Until every source has
// been read and every text decoded, that is uncertain, and the rule is kept. A rule that creates nothing stands in for a
// removed one, or for one that now has another kind of parents: each parent is reconciled as one that the rule does not
// select. A Removal tracks the progress.
//
// A child ends when its rule no longer renders it (it is pruned), or when its parent is deleted and the garbage collector
// does not delete the child. Its deletionPolicy can keep it. If that needs no expression, the running rule decides; else
// it is what was decided when the child was last written, which its mark records.
//
// The package reads and writes nothing.
//
// What each file does:
//
//	operator.go        a rule that runs; running.go, all of them, and how messages name them
//	plan.go            makes a plan, and tells when it is outdated
//	kinds.go           kinds that the cluster has, lacks or lost
//	parents.go         which parents a rule selects
//	children.go        the informers of children; which of them the rules share
//	lookup.go          where a lookup reads; patch.go, where the targets of a patch are
//	ownership.go       field managers, the finalizer, and whether a rule needs it
//	tags.go            the index of children by their parent
//	planner.go         which rules run and which are removed; removal.go, the progress of one removal
//	deletionpolicy.go  which children are kept
//	ending.go          a child that ends; which children a parent waits for, and how a parent is being deleted
//	order.go           the order in which children are deleted
package operator
