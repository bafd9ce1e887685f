// Package lifecycletest tests the engine with random sequences of operations on parents, rules, lookups and children,
// with restarts, on a real API server.
//
// A sequence has a handful of parents, rules and lookups, one object that rules patch, and some ten operations on
// them, all drawn from a seed. A model that knows nothing of the engine computes after each operation which objects
// must exist and with what content, which may exist, and which must keep their UID. It also computes the content of
// the patched object, and which finalizers, conditions, field managers and records must no longer exist. Whenever the
// cluster has had time to come to rest, it is compared with the model. At the end, a restarted engine must find
// nothing to write, and after all parents and rules are deleted, nothing may be left.
//
// Nothing orders the events of the engine's different watches. So the model requires that an object was kept only if
// it was wanted in every combination of a text of its rule and a state of its parent since the last rest. To make
// sure at a rest that the engine has seen all texts, the test writes one more text that changes nothing, and waits
// for its report.
//
// Many sequences run concurrently in one lane: each in namespaces of its own, with one engine, which is stopped and
// started in the middle of their work.
//
// A failure prints the seed, the sequence's number, its operations, and what the engine logged about it (-logs=false
// omits that). To run one sequence again, without some of its operations:
//
//	go test ./engine/lifecycletest -run TestRandomLives -args -seed 7 -only 123 -skip 4,5
//
// If a sequence runs alone, -v shows its operations even if it passes. What depends on the load of many sequences
// needs that load: -sequences 60 without -only.
package lifecycletest
