// Package readers knows which keys read which objects. When an object changes, it says which keys to enqueue; and it keeps those
// informers running through which somebody reads, and which no rule asks for when it starts:
//
//	index.Add(key, readers.Subject{Informer: secrets, Namespace: "home", Name: "password", Borrowed: true}, labels.Everything())
//	// ... the key is reconciled, and reads:
//	index.Keep(key, read) // what it did not read any more is dropped
//
//	for key := range index.Of(event) {
//		enqueue(key)
//	}
package readers
