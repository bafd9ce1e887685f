// Package lifecycletest tests the engine with random lives of parents, rules,
// lookups and children, with restarts, on a real API server.
//
// A sequence is a handful of parents, rules and lookups and some ten operations
// on them, all drawn from a seed. A model, which knows nothing of the engine,
// says after each operation which objects there must be, with what content,
// which may be, and which must keep their UID. Whenever the cluster is given
// time to come to rest it is held against the model; at the end a fresh start
// must find nothing to write, and after all parents and rules are gone nothing
// may be left.
//
// Many sequences run at the same time in one lane: namespaces of their own,
// one engine, which is stopped and started in the middle of their work.
//
// A failure prints the seed, the sequence's number and its operations. One
// sequence is run again, without some of its operations, by
//
//	go test ./engine/lifecycletest -run TestRandomLives -args -seed 7 -only 123 -skip 4,5
package lifecycletest
