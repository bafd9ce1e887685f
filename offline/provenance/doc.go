// Package provenance says why a field of an object has its value: which expression of which rule gave it, from what, and which field
// managers have written it.
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
// The engine keeps nothing for this. A [Tracer] walks over the text of a template and its compiled form side by side, with the
// scopes of the evaluation, and renders the parts once more (walk.go). What an expression reads, it evaluates on its own (inputs.go);
// a variable, an item of a forEach and a lookup have a source in turn.
//
// [Explain] puts that together with the live object and its managedFields (owners.go): whether both agree, and what Kanon does about
// it (verdict.go). An [Explanation] is printed as text, with one field in detail or all of them with their lines (text.go), as JSON or
// as YAML.
//
// Values of Secrets are not shown, and neither is what is computed from them (secrets.go).
package provenance
