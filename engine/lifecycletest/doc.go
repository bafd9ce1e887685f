// Package lifecycletest tests the engine with random lives of parents, rules,
// lookups and children, with restarts, on a real API server.
//
// A sequence is a handful of parents, rules and lookups, an object that rules
// patch, and some ten operations on them, all drawn from a seed. A model, which
// knows nothing of the engine, says after each operation which objects there must
// be, with what content, which may be, and which must keep their UID; what the
// patched object has, and which finalizers, conditions, field managers and records
// there must not be any more. Whenever the cluster is given time to come to rest it
// is held against the model; at the end a fresh start must find nothing to write,
// and after all parents and rules are gone nothing may be left.
//
// Nothing orders what the engine's watches bring, so the model asks an object to
// have stayed only where every text of its rule and every state of its parent since
// the last rest had a use for it, in any combination. At a rest the engine has seen
// all texts: one more is written that changes nothing, and its verdict awaited.
//
// Many sequences run at the same time in one lane: namespaces of their own,
// one engine, which is stopped and started in the middle of their work.
//
// A failure prints the seed, the sequence's number, its operations, and
// what the engine logged of it (-logs=false leaves that out). One sequence is run again, without some of its
// operations, by
//
//	go test ./engine/lifecycletest -run TestRandomLives -args -seed 7 -only 123 -skip 4,5
//
// The story of a sequence that is run alone is shown by -v also where it does not
// fail. What depends on the load of many needs the load of many: -sequences 60 without -only.
package lifecycletest
