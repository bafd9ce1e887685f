// Package refusal interprets the API server's refusals of writes.
//
// The API server has few reasons: a change of an immutable field, an invalid value, and an object that was replaced
// by another one of its name all result in 422. What distinguishes them are the fields that the answer names and, as
// a last resort, its text:
//
//	switch {
//	case refusal.WrongUID(err): // another object has the name
//	case refusal.Immutable(err): // the change is refused, not the object
//	case refusal.Permanent(err): // the object is refused, and will be until it changes
//	default: // retry
//	}
//
// errors.go has the resulting errors: [ReplacedError], [InvalidError] and others. The package only classifies;
// callers decide what to do.
package refusal
