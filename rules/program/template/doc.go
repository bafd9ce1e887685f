// Package template renders the parts of a compiled rule.
//
// A [Template] is a part of a rule with expressions in it, and an [Expression] is one of them, compiled. Both are
// immutable. They are rendered in a [Scope], which resolves names, and within a [Session], which has the remaining
// budget of one evaluation:
//
//	session := template.NewSession(ctx, &limits, nil, false)
//	session.Begin()
//	val, ok, problem := child.Template.Render(scope) // scope.Session() is &session
//
// A part without a value has a [Problem]: it waits for something that will exist later, it fails, or it reads what is
// skipped. Which of these it is follows from the origin of what the expression reads (Expression.Reads), which the
// compiler knows. The text of an error never decides. A message contains no value if the rule reads or writes Secrets.
//
// [Limits] bound an evaluation. typed.go renders what must have a certain form: names, selectors, durations, reasons.
//
// What each file does:
//
//	template.go    a part of a rule with expressions in it
//	expression.go  one expression, and the problem if it has no value
//	problem.go     why a part has no value: it waits, failed, or reads what is skipped
//	session.go     what remains of the limits of an evaluation
//	limits.go      the limits
//	size.go        how large a rendered value is
//	typed.go       values of a certain form: names, selectors, durations, reasons
//	trial.go       evaluates constants when the rule is compiled
package template
