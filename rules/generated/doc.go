// Package generated checks random values, such as passwords. Each must be generated once and then kept: random must be
// the default of a field of the child's own observed object, and the template must set that same field, as in
//
//	data: {password: "${observed.secret.?data.?password.orValue(bytes(random(24)))}"}
//
// For any other call of random, the package says what to write instead.
//
//	check := generated.Check{Reporter: reporter, Spec: spec, Child: child, Variables: variables, Uses: uses, …}
//	check.Run() // sets child.Generated
//
// Package program keeps the values in an evaluation.
package generated
