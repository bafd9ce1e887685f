// Package readers knows who reads what: it is asked, when an object changes, which keys
// to wake, and it keeps the informers running through which somebody reads.
package readers
