package manifests

import (
	"bytes"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/rules/diagnostic"
	"kanon.dev/kanon/rules/syntax"
)

// definedTwice reports definitions that occur twice in the files and differ, as Kanon applies only one of them. Two
// rules with a schema for the same kind are reported by clashes.
func definedTwice(decoded []*syntax.Documents) diagnostic.Findings {
	type place struct {
		docs *syntax.Documents
		i    int
		text []byte
	}
	var findings diagnostic.Findings
	named := make(map[string][]place)
	for _, docs := range decoded {
		whole := docs.WholeCRDs()
		for i, crd := range docs.CRDs {
			if !slices.ContainsFunc(whole, func(other *unstructured.Unstructured) bool { return other == crd }) {
				continue
			}
			text, err := json.Marshal(crd.Object)
			if err != nil { // the API server refuses such a definition too
				continue
			}
			is := place{docs, i, text}
			for _, other := range named[crd.GetName()] {
				first, second := other, is
				if !docs.IsBeside(i) { // if a rule makes one of them, the finding is about the rule
					first, second = is, other
				}
				isOfRules := !docs.IsBeside(i) && !other.docs.IsBeside(other.i)
				if !isOfRules && !bytes.Equal(text, other.text) {
					findings = append(findings, first.docs.DefinedTwice(first.i, second.docs, second.i))
				}
			}
			named[crd.GetName()] = append(named[crd.GetName()], is)
		}
	}
	return findings
}
