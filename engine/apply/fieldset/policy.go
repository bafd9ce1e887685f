package fieldset

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Policy says how a child is treated differently from the default, which is the zero value. Whatever affects the
// content must also be hashed in Writer.sourceOf.
type Policy struct {
	// Ignore are the fields that are set when their parent is created, and left to others from then on: they are not
	// applied again, do not count as drift, and are not removed.
	Ignore []Path
	// Relinquished are those of Ignore that are ignored only while a condition holds; at other times they are applied.
	Relinquished []Path
	// New are generated fields. They are set in an object that lacks them, and only in exactly the version that was
	// seen without them.
	New []Path
	// Content asks for a hash of the content in AnnotationApplied, for Outdated.
	Content bool
}

// Normalised returns the policy for an object in its normal form, in which a Secret has no stringData.
func (p Policy) Normalised(gk schema.GroupKind) Policy {
	if gk != (schema.GroupKind{Kind: "Secret"}) {
		return p
	}
	out := make([]Path, len(p.Ignore))
	for i, path := range p.Ignore {
		out[i] = path
		if path[0].Field == "stringData" {
			out[i] = append(Path{{Field: "data"}}, path[1:]...)
		}
	}
	p.Ignore = out
	return p
}
