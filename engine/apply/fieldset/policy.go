package fieldset

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Policy says how a child is treated where that is not as usual. The zero value is as usual. What it says of the content
// belongs into Writer.sourceOf too.
type Policy struct {
	// Ignore are the fields that are set when what holds them is made, and left to others from then on: they are not
	// applied again, do not count as drift, and are not removed.
	Ignore []Path
	// Relinquished are those of Ignore that are ignored for now, because a condition holds: another time they are applied.
	Relinquished []Path
	// New are fields that are generated: they are set in an object that lacks them, and only in exactly the version that was
	// seen without them.
	New []Path
	// Content asks for AnnotationApplied to tell by itself whether the content is another one: see Outdated.
	Content bool
}

// Normalised is the policy for an object in its normal form, in which a Secret has no stringData.
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
