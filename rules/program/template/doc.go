// Package template renders the parts of a compiled rule.
//
// A [Template] is a part of a rule with expressions in it, and an [Expression] is one of
// them, compiled. Both are immutable. They are rendered in a [Scope], which resolves names,
// and within a [Session], which has what one evaluation may still take:
//
//	session := template.NewSession(ctx, &limits, nil, false)
//	session.Begin()
//	val, ok, problem := child.Template.Render(scope) // scope.Session() is &session
//
// A part that has no value has a [Problem]: it waits for something that will exist later, or
// it fails, or it reads what is skipped. Which of these it is follows from where the
// expression reads (Expression.Reads), which the compiler knows; the text of an error is
// never looked at. A message has no value in it if the rule has to do with Secrets.
//
// [Limits] bound what an evaluation takes. typed.go renders what must be of a certain form:
// names, selectors, durations, reasons.
package template
