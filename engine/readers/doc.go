// Package readers knows which keys read which objects. When an object changes, it returns the keys to enqueue. It also
// runs the informers that no rule needs at its start, but that a parent turns out to read through:
//
//	index.Add(key, readers.Subject{Informer: secrets, Namespace: "home", Name: "password", Borrowed: true}, labels.Everything())
//	// ... the key is reconciled, and reads:
//	index.Keep(key, read) // drops what the key no longer reads
//
//	for key := range index.Of(event) {
//		enqueue(key)
//	}
package readers
