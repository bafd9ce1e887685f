// Package generated checks values that are made at random, such as passwords: that each is generated once and then kept, because
// random is the default of the field of the child's own observed object that the template sets. It says for any other call of
// random what to write instead.
//
//	check := generated.Check{Reporter: reporter, Spec: spec, Child: child, Variables: variables, Uses: uses, …}
//	check.Run() // notes child.Generated
//
// How an evaluation keeps the values is program's (generated.go).
package generated
