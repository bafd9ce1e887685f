// Package naming knows which names are valid where: behind a dot in an expression, as a forEach name, as the name of an object, and as
// the reason of a condition or an Event. It proposes a name where one is not valid.
//
//	naming.IsIdentifier("web-server")                       // false
//	naming.CamelCase("web-server")                          // webServer
//	naming.OfKind(kind)("Web")                              // what the API server finds wrong with it
//	naming.WrongReason(reason, naming.MaxConditionReason)   // empty for a valid one
package naming
