// Package definitions checks CustomResourceDefinitions and objects of their kinds as the API server does on creation,
// without an API server:
//
//	for _, p := range definitions.Check(ctx, crd) {
//		fmt.Println(strings.Join(p.Path, "."), p.Message) // spec.versions.0.schema.… Invalid value: must be of type integer: "string"
//	}
//
// k8s.io/apiextensions-apiserver decodes a definition strictly, defaults it and converts it. Its code validates the
// definition: schemas must be structural, defaults must fit them, and CEL rules must compile and be cheap enough.
//
// Objects get the defaults of their kind. Then their names and metadata, unknown fields, and values against the schema
// and its validation rules are checked.
//
//	kinds, err := definitions.NewKinds(crds)
//	kinds.Fill(object)
//	err = kinds.CheckObject(ctx, object, nil) // the API server refuses WebApp a/b: unknown field "spec.replica", did you mean "replicas"?
//
// Compare compares a definition with its replacement, and finds what stored objects of the kind would lose: a value would
// be dropped, would have the wrong type, or would block changes of other fields. Compare only decides whether a change
// can do harm. The API server's code then decides it for each object (Survey, [Kinds.CheckStored]).
//
// Prepare decides whether Kanon may write a definition, which is made from a rule's schema or is beside rules in a document
// of its own:
//
//   - If the cluster has none, Kanon creates it, with an annotation that names the rule.
//   - If it is the same one, whoever made it, there is nothing to do.
//   - If Kanon made it, Kanon changes it if no stored object loses anything, or if the rule confirms exactly this change.
//   - If somebody else made it, Kanon leaves it alone, unless the rule adopts it.
//
// A definition beside rules is applied once, and again when its text changes. It takes no field from other managers. The
// package writes nothing. It never deletes a definition, because that would delete every object of the kind.
//
//	check.go     a definition as the API server checks it
//	objects.go   objects that are written
//	compare.go   the changes of a definition
//	stored.go    objects that are stored, and what they lose
//	keeper.go    whether Kanon may write it, and why not
package definitions
