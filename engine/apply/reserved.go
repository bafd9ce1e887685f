package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/mark"
)

// What a rule renders may depend on the content of its parents, which others write. In Kanon's own namespace, such
// content could become a rule that acts cluster-wide, or pass for Kanon's own data. So no rule may write a child or a
// patch there that Kanon would read as one of these. Nor may it write Kanon's own Deployment, ServiceAccount or another
// object of its installation: whoever changes these acts with Kanon's rights.

// Reserved describes the objects that no rule may write. The zero value reserves none.
type Reserved struct {
	// Namespace is Kanon's own namespace.
	Namespace string
	// Labels mark what Kanon reads there: rules, and its records.
	Labels []string
	// OwnLabels are labels, with their values, each of which marks the objects of Kanon's own installation there.
	OwnLabels map[string]string
	// Prefixes and Names are the names, by kind, of objects that Kanon keeps there.
	Prefixes map[schema.GroupKind]string
	Names    map[schema.GroupKind]string
	// Kinds are the kinds of which Kanon reads every object there.
	Kinds []schema.GroupKind
}

// errReserved is the error inside the InvalidError.
var errReserved = errors.New("no rule may write Kanon's own objects, or what Kanon reads, in its own namespace")

// CheckRef returns an error for an object that no rule may write. labelOf returns the value of a label of the object,
// and whether the object has the label.
func (o Reserved) CheckRef(ref mark.Ref, labelOf func(string) (string, bool)) error {
	if o.Namespace == "" || ref.Namespace != o.Namespace {
		return nil
	}
	gk := schema.GroupKind{Group: ref.Group, Kind: ref.Kind}
	prefix, prefixed := o.Prefixes[gk]
	reason := ""
	if slices.Contains(o.Kinds, gk) {
		reason = "it is a " + gk.String()
	}
	for _, label := range o.Labels {
		if _, ok := labelOf(label); ok {
			reason = "it has the label " + label
		}
	}
	for label, own := range o.OwnLabels {
		if value, ok := labelOf(label); ok && value == own {
			reason = "it has the label " + label + "=" + own + " of Kanon's own objects"
		}
	}
	switch {
	case prefixed && strings.HasPrefix(ref.Name, prefix):
		reason = "its name begins with " + prefix
	case o.Names[gk] != "" && o.Names[gk] == ref.Name:
		reason = "its name is " + ref.Name
	}
	if reason == "" {
		return nil
	}
	return &InvalidError{Ref: ref, Err: fmt.Errorf("%w: %s; render it into another namespace, or without that", errReserved, reason)}
}

// Check is CheckRef for an object as it is or would be.
func (o Reserved) Check(obj *unstructured.Unstructured) error {
	return o.CheckRef(mark.RefOf(obj), func(label string) (string, bool) { return mark.MetadataString(obj, "labels", label) })
}
