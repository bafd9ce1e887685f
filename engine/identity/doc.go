// Package identity names an object, and a field of it, without the object itself.
//
//	id := identity.Of(deployment)          // Deployment.apps team-a/web
//	seen[identity.At(fromTheInformer)]     // the same, without decoding it
//
// It knows nothing of rules, marks or informers, so that every part of the engine can use it.
package identity
