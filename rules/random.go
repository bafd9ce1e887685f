package rules

import (
	"slices"

	"github.com/google/cel-go/common/ast"

	"kanon.dev/kanon/rules/celenv"
)

// What is made at random is another value at each evaluation. So it can only stand
// where it is used once: in the template of a child that is made once and not changed
// after that, and in the child's variables, for the template; and as the default of a
// field that is generated once (generated.go). Whoever reads the child reads the live
// object, which has the value that it was made with.

// noteRandom notes a call of random, and reports it where it cannot be kept.
func (a *analysis) noteRandom(e ast.Expr) {
	if e.AsCall().FunctionName() != celenv.RandomName {
		return
	}
	a.random = true
	switch {
	case a.scope.random:
	case a.generatesHere():
		a.generated = true
	default:
		f := a.report(e.ID(), CodeOutOfScope, "random gives another value at each evaluation, and %s is evaluated again and again", a.scope.place)
		f.Hint = "call it in the template, or in a variable, of a child with updatePolicy: CreateOnly, and read the value from that child"
		if a.scope.own != "" {
			f.Hint = "let it be the default of its own field, as in data: {password: \"" + a.c.generatedExample(a.scope.own) + "\"}, or call it in a child with updatePolicy: CreateOnly"
		}
	}
}

// checkRandomIdentity reports a name or a namespace that is made at random, which
// would be another object each time.
func (c *compiler) checkRandomIdentity(spec *childSpec, u *uses) {
	metadata := spec.template.get("metadata")
	for _, n := range []*node{metadata, metadata.get("name"), metadata.get("namespace")} {
		if n != nil && slices.Contains(u.random, n) {
			c.report(c.rule.src.at(n.yaml), CodeRandomIdentity, "%s would make a new object at every evaluation, because its name is made at random", spec.label()).
				hint("make the name of what tells the objects apart")
		}
	}
}
