// Package reserved says which objects no rule may write, whatever it renders: those that Kanon itself reads in its own namespace.
//
//	err := objects.Check(rendered) // a *refusal.InvalidError for a ConfigMap with rules
package reserved

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kanon.dev/kanon/engine/apply/mark"
	"kanon.dev/kanon/engine/apply/refusal"
)

// What a rule renders may follow from texts of its parents, which others write. In Kanon's own namespace such a text could
// become a rule that acts cluster-wide, or pass for what Kanon itself keeps there. So no child and no patch is written there
// that would be read as one of these, whatever rule renders it.

// Objects says which objects no rule may write. The zero value reserves none.
type Objects struct {
	// Namespace is Kanon's own.
	Namespace string
	// Labels select what Kanon reads there: rules, and its records.
	Labels []string
	// Prefixes and Names are those of objects that Kanon keeps there, by their kinds.
	Prefixes map[schema.GroupKind]string
	Names    map[schema.GroupKind]string
	// Kinds are those of which Kanon reads all objects there.
	Kinds []schema.GroupKind
}

// errReserved is the reason of an InvalidError for an object that no rule may write.
var errReserved = errors.New("no rule may write what Kanon itself reads in its own namespace")

// CheckRef fails for an object that no rule may write. hasLabel reports whether it has a label.
func (o Objects) CheckRef(ref mark.Ref, hasLabel func(string) bool) error {
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
		if hasLabel(label) {
			reason = "it has the label " + label
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
	return &refusal.InvalidError{Ref: ref, Err: fmt.Errorf("%w: %s; render it into another namespace, or without that", errReserved, reason)}
}

// Check is CheckRef of an object as it is or would be.
func (o Objects) Check(obj *unstructured.Unstructured) error {
	return o.CheckRef(mark.RefOf(obj), func(label string) bool {
		_, ok := mark.MetadataString(obj, "labels", label)
		return ok
	})
}
