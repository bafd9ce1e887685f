// Package provenance explains why a field of an object has its value: which expression of which rule set it, what the
// expression read, and which field managers wrote it.
//
//	tracer := provenance.New(decoded, compiled, evaluation)      // an evaluation that is done
//	fields, ok := tracer.Child("deployment", object)             // every leaf of the object, in the order of the rule
//	for _, f := range fields {
//		fmt.Println(f.Path, f.Source.Position, f.Source.Expression) // spec.replicas webapp.yaml:44:21 parent.spec.replicas
//		for _, in := range f.Source.Inputs {
//			fmt.Println(in.Path, in.Value, in.Object)            // parent.spec.replicas 3 WebApp shop/storefront
//		}
//	}
//
// The engine stores nothing for this. A [Tracer] walks over the text of a template and its compiled form side by side,
// in the scopes of the evaluation, and renders the parts once more (walk.go). It evaluates each read of an expression
// separately (inputs.go). Variables, items of a forEach and lookups have a source in turn.
//
// [Explain] combines that with the live object and its managedFields (owners.go): do they agree, and what will Kanon do
// (verdict.go). An [Explanation] can be printed as text, for one field or for all (text.go, blame.go), as JSON, or as
// YAML.
//
// Values of Secrets, and everything computed from them, are hidden (secrets.go).
package provenance
