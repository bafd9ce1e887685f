package rules

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/kinds/openapi"
	"kanon.dev/kanon/rules/celenv"
	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/flow"
	"kanon.dev/kanon/rules/inference"
	"kanon.dev/kanon/rules/syntax"
	"kanon.dev/kanon/rules/yamltree"
)

// Inference completes the definitions that come from spec.parent.schema: each field that spec.status sets gets the type
// of its expression.
type Inference struct {
	// Schemas has the kinds that no rule of the documents defines.
	Schemas openapi.Schemas
	// Awaits reports whether the schema of a kind that Schemas lacks may still come; nil: none does.
	Awaits func(gvk schema.GroupVersionKind) bool
}

// Infer completes the definitions of the documents, between their decoding and Compile. A rule with a finding is partial from then
// on. A rule that waits for a kind has no finding, and Parent.Awaits names the kind.
func (in Inference) Infer(all ...*syntax.Documents) diagnostic.Findings {
	return inference.Infer(inference.Input{Schemas: in.Schemas, Awaits: in.Awaits, Compile: compileStatus}, all...)
}

// compileStatus compiles spec.status, and what it reads.
func compileStatus(r *syntax.Rule, schemas openapi.Schemas) (*inference.Status, error) {
	env, err := celenv.Shared()
	if err != nil {
		return nil, err
	}
	c := newCompiler(r, Options{Schemas: schemas}, env)
	c.declare()
	c.parent(&flow.Uses{})
	c.status(&flow.Uses{})
	return &inference.Status{Types: c.types, Scalar: func(n *yamltree.Node) (inference.Scalar, bool) {
		r, compiled := c.results[n]
		scalar := inference.Scalar{Part: r.part, IsWrong: r.wrong}
		if r.x != nil {
			scalar.Whole = r.x.Expression
		}
		return scalar, compiled
	}}, nil
}
