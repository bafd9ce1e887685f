// Package refusal reads what the API server means when it refuses a write.
//
// The API server has few reasons of its own: a change of an immutable field, a value that is invalid, and an object that
// was replaced by another one of its name all come as 422. What tells them apart are the fields that the answer names
// and, as a last resort, its words:
//
//	switch {
//	case refusal.WrongUID(err): // another object has the name
//	case refusal.Immutable(err): // the change is refused, not the object
//	case refusal.Permanent(err): // the object is refused, and will be as long as it stays as it is
//	default: // worth another try
//	}
//
// errors.go has the errors that follow from it: [ReplacedError], [InvalidError] and others, which a caller decides on. It decides
// nothing itself.
package refusal
